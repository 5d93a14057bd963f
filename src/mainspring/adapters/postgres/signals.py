"""Signals between machines by LISTEN and NOTIFY: one hub per process, with two connections however many subscribe.

A process wakes its own subscribers itself, and so needs the server only for those of other processes.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta
from hashlib import sha256

from mainspring.adapters.inbox import Inbox
from mainspring.adapters.pace import Pace
from mainspring.adapters.postgres.address import Address
from mainspring.adapters.postgres.hearing import Listener, Notifier
from mainspring.adapters.postgres.pooling import check_sessions
from mainspring.ports.time import Random

SEPARATOR = "\x1f"
"""Between the parts of a payload; a text of PostgreSQL can hold it, other than a null."""

_LONGEST_PAYLOAD = 7999
_LONGEST_NAME = 63


class PostgresHub:
    """All signals of one process and store. Belongs to the event loop that opened it."""

    def __init__(self, address: Address, *, random: Random, pace: Pace) -> None:
        channel = channel_of(address.schema)
        self._name = f"{random.bits(64):016x}"
        self._subscribers: list[PostgresSignals] = []
        self._listener = Listener(address, channel, heard=self._hear, missed=self._suspect, random=random, pace=pace)
        self._notifier = Notifier(address, channel, random=random, pace=pace)
        self._outbox: dict[str, None] = {}
        self._sending = asyncio.Lock()

    @classmethod
    async def open(cls, address: Address, *, random: Random, pace: Pace | None = None) -> "PostgresHub":
        """Begin to listen; ConfigurationError if a pooler stands between, StoreUnavailable if there is no server."""
        await check_sessions(address)
        hub = cls(address, random=random, pace=pace or Pace())
        await hub._listener.open()
        return hub

    def subscribe(self) -> "PostgresSignals":
        """A `Signals` of its own for one part of the process; it remembers what came since now."""
        subscriber = PostgresSignals(self)
        self._subscribers.append(subscriber)
        return subscriber

    def sender(self) -> "PostgresSignals":
        """A `Signals` for somebody who only notifies."""
        return PostgresSignals(self)

    def unsubscribe(self, subscriber: "PostgresSignals") -> None:
        """Forget a subscriber; twice changes nothing."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    async def publish(self, topics: Sequence[str]) -> None:
        """Wake the subscribers of this process at once, and those of all others by the server."""
        self._deliver(topics)
        self._outbox.update(dict.fromkeys(topics))
        # What is asked for while a notification is under way goes out together, in the next one.
        async with self._sending:
            waiting = list(self._outbox)
            self._outbox.clear()
            if waiting:
                await self._notifier.send(list(_payloads(self._name, waiting)))

    async def close(self) -> None:
        """Let both connections go, without waiting for the server."""
        await self._listener.close()
        await self._notifier.close()

    def _hear(self, payload: str) -> None:
        sender, *topics = payload.split(SEPARATOR)
        if sender != self._name:
            self._deliver(topics)

    def _deliver(self, topics: Sequence[str]) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber.receive(topics)

    def _suspect(self) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber.receive_all()


class PostgresSignals:
    """One subscriber of a hub, or somebody who only notifies through it."""

    def __init__(self, hub: PostgresHub) -> None:
        self._hub = hub
        self._inbox = Inbox()
        self._wanted: dict[str, None] = {}

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics*, in every process on the same store."""
        await self._hub.publish(topics)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        self._wanted.update(dict.fromkeys(topics))
        return await self._inbox.wait(topics, at_most)

    def receive(self, topics: Sequence[str]) -> None:
        """Take *topics* in."""
        self._inbox.deliver(topics)

    def receive_all(self) -> None:
        """Take in whatever this subscriber has ever waited for: any of it may have been missed."""
        self._inbox.deliver(tuple(self._wanted))

    async def close(self) -> None:
        """Take leave of the hub."""
        self._hub.unsubscribe(self)


def channel_of(schema: str) -> str:
    """The channel of the store in *schema*. Channels belong to a database, so its name needn't be in it."""
    channel = f"mainspring_{schema}"
    return channel if len(channel) <= _LONGEST_NAME else f"mainspring_{sha256(schema.encode()).hexdigest()[:32]}"


def _payloads(sender: str, topics: Sequence[str]) -> Iterator[str]:
    """Topics in as few payloads as hold them; one that is too long for any is left out."""
    payload, size = sender, len(sender)
    for topic in topics:
        length = len(topic.encode()) + len(SEPARATOR)
        if len(sender) + length > _LONGEST_PAYLOAD:
            continue
        if size + length > _LONGEST_PAYLOAD:
            yield payload
            payload, size = sender, len(sender)
        payload += SEPARATOR + topic
        size += length
    if payload != sender:
        yield payload
