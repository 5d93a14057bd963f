"""The means by which the roles of one store wake each other, in this process and in others."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol, TypeAlias

from mainspring.adapters.files.signals import FileSignals
from mainspring.adapters.memory.signals import Hub, MemorySignals
from mainspring.ports.signals import Signals


class OpenSignals(Signals, Protocol):
    """Signals that can be closed."""

    async def close(self) -> None:
        """Let go of them."""
        ...


Exchange: TypeAlias = Callable[[bool], Awaitable[OpenSignals]]
"""Opens signals of one store: to listen and to notify, or, if told False, only to notify."""


class Switchboard:
    """Gives out the signals of one exchange, and closes them with the process."""

    def __init__(self, exchange: Exchange, closing: AsyncExitStack) -> None:
        self._exchange = exchange
        self._closing = closing

    async def subscribe(self) -> Signals:
        """Signals for one role alone: two that share one would take each other's."""
        return await self._open(listening=True)

    async def sender(self) -> Signals:
        """Signals for somebody who only notifies."""
        return await self._open(listening=False)

    async def _open(self, *, listening: bool) -> Signals:
        opened = await self._exchange(listening)
        self._closing.push_async_callback(opened.close)
        return opened


def within_process() -> Exchange:
    """For a store that no other process can share."""
    hub = Hub()

    async def open_signals(listening: bool) -> OpenSignals:
        return hub.subscribe() if listening else MemorySignals(hub)

    return open_signals


def through_folder(folder: Path) -> Exchange:
    """For a store in a file: its processes are all on one machine."""

    async def open_signals(listening: bool) -> OpenSignals:
        return await FileSignals.open(folder, listening=listening)

    return open_signals
