"""One process's place in a channel that carries signals: who subscribes here, and what waits to be sent."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from mainspring.adapters.alarm import fine_alarm
from mainspring.adapters.inbox import Inbox
from mainspring.ports.time import Random

SEPARATOR = "\x1f"
"""Between the parts of a payload; a text of PostgreSQL can hold it, other than a null."""


class Subscriber:
    """What one part of the process has heard and not yet waited for."""

    def __init__(self) -> None:
        self._inbox = Inbox(fine_alarm)
        self._wanted: dict[str, None] = {}

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        self._wanted.update(dict.fromkeys(topics))
        return await self._inbox.wait(topics, at_most)

    def receive(self, topics: Sequence[str]) -> None:
        """Take *topics* in."""
        self._inbox.deliver(topics)

    def close(self) -> None:
        """Expect no more waits."""
        self._inbox.close()

    def receive_all(self) -> None:
        """Take in whatever this subscriber has ever waited for: any of it may have been missed."""
        self._inbox.deliver(tuple(self._wanted))


class Exchange:
    """Delivers what comes to the subscribers of this process, and hands on what goes out, in company."""

    def __init__(self, random: Random, send: Callable[[str, Sequence[str]], Awaitable[None]]) -> None:
        """*send* is given our name, by which we know what we sent ourselves, and topics."""
        self.name = f"{random.bits(64):016x}"
        self._send = send
        self._subscribers: list[Subscriber] = []
        self._outbox: dict[str, None] = {}
        self._sending = asyncio.Lock()

    @property
    def used(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self._subscribers)

    def join(self, subscriber: Subscriber) -> None:
        """Deliver to *subscriber* from now on."""
        self._subscribers.append(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        """Forget a subscriber; twice changes nothing."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)
        subscriber.close()

    async def send(self, topics: Sequence[str]) -> None:
        """Tell other processes."""
        self._outbox.update(dict.fromkeys(topics))
        # What is asked for while a notification is under way goes out together, in the next one.
        async with self._sending:
            waiting = list(self._outbox)
            self._outbox.clear()
            if waiting:
                await self._send(self.name, waiting)

    def hear(self, payload: str) -> None:
        """Deliver what another process sent."""
        sender, *topics = payload.split(SEPARATOR)
        if sender != self.name:
            self.deliver(topics)

    def deliver(self, topics: Sequence[str]) -> None:
        """Wake the subscribers of this process."""
        for subscriber in tuple(self._subscribers):
            subscriber.receive(topics)

    def suspect(self) -> None:
        """Wake all of them: anything may have been missed."""
        for subscriber in tuple(self._subscribers):
            subscriber.receive_all()
