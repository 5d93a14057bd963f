"""The means by which the roles of one store wake each other, in this process and in others."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mainspring.adapters.files.household import Household
from mainspring.adapters.files.signals import FileSignals
from mainspring.adapters.memory.signals import Hub, MemorySignals
from mainspring.ports.signals import Herald, Signals


class OpenSignals(Signals, Protocol):
    """Signals that can be closed."""

    async def close(self) -> None:
        """Let go of them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """How the processes of one store wake each other."""

    open: Callable[[bool], Awaitable[OpenSignals]]
    """Opens signals: to listen and to notify, or, if told False, only to notify."""
    herald: Herald | None = None
    """For the store, if it carries the signals itself."""
    foretell: Callable[[Sequence[str]], bool] | None = None
    """Tells those of this loop, and whether any waited to hear it; for a store that does all in the order of asking."""


class Switchboard:
    """Gives out the signals of one exchange, each *wrapped* in what does more, and closes them with the process."""

    def __init__(
        self,
        exchange: Exchange,
        closing: AsyncExitStack,
        wrapped: Callable[[Signals], Signals] = lambda signals: signals,
    ) -> None:
        self._exchange = exchange
        self._closing = closing
        self._wrapped = wrapped

    async def subscribe(self) -> Signals:
        """Signals for one role alone: two that share one would take each other's."""
        return await self._open(listening=True)

    async def sender(self) -> Signals:
        """Signals for somebody who only notifies."""
        return await self._open(listening=False)

    async def _open(self, *, listening: bool) -> Signals:
        opened = await self._exchange.open(listening)
        self._closing.push_async_callback(opened.close)
        return self._wrapped(opened)


def within_process() -> Exchange:
    """For a store that no other process can share."""
    hub = Hub()

    async def open_signals(listening: bool) -> OpenSignals:
        return hub.subscribe() if listening else MemorySignals(hub)

    return Exchange(open=open_signals)


def through_folder(folder: Path) -> Exchange:
    """For a store in a file: its processes are all on one machine."""
    household = Household()

    async def open_signals(listening: bool) -> OpenSignals:
        return await FileSignals.open(folder, listening=listening, household=household)

    return Exchange(open=open_signals, foretell=household.foretell)
