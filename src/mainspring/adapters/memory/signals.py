"""Signals within one process: a hub that every part of it subscribes to."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from mainspring.adapters.inbox import Inbox


class Hub:
    """Connects the subscribers of one process, on whichever loop or thread each of them waits."""

    def __init__(self) -> None:
        self._subscribers: list[MemorySignals] = []

    def subscribe(self) -> "MemorySignals":
        """A `Signals` of its own for one part of the process; it remembers what came since now."""
        subscriber = MemorySignals(self)
        self._subscribers.append(subscriber)
        return subscriber

    def unsubscribe(self, subscriber: "MemorySignals") -> None:
        """Forget a subscriber; twice changes nothing."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def publish(self, topics: Sequence[str]) -> None:
        """Hand *topics* to every subscriber, the sender's own included."""
        for subscriber in tuple(self._subscribers):
            subscriber.receive(topics)


class MemorySignals:
    """One subscriber of a hub. Any thread may notify; one loop waits."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._inbox = Inbox()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics* anywhere in this process."""
        self._hub.publish(topics)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        self._loop = asyncio.get_running_loop()
        return await self._inbox.wait(topics, at_most)

    def receive(self, topics: Sequence[str]) -> None:
        """Take *topics* in, on the loop that waits for them."""
        loop = self._loop
        if loop is None or loop is _running_loop():
            self._inbox.deliver(topics)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(self._inbox.deliver, topics)

    async def close(self) -> None:
        """Take leave of the hub."""
        self._hub.unsubscribe(self)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
