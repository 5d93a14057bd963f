"""Signals between machines by LISTEN and NOTIFY: one hub per process, with two connections however many subscribe.

A process wakes its own subscribers itself, and so needs the server only for those of other processes.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from hashlib import sha256

from mainspring.adapters.exchange import SEPARATOR, Exchange, Subscriber
from mainspring.adapters.pace import Pace
from mainspring.adapters.postgres.address import Address
from mainspring.adapters.postgres.hearing import Listener, Notifier
from mainspring.adapters.postgres.herald import PostgresHerald
from mainspring.adapters.postgres.pooling import check_sessions
from mainspring.ports.time import Random

_LONGEST_PAYLOAD = 7999
_LONGEST_NAME = 63


class PostgresHub:
    """All signals of one process and store. Belongs to the event loop that opened it."""

    def __init__(self, address: Address, *, random: Random, pace: Pace) -> None:
        channel = channel_of(address.schema)
        self._exchange = Exchange(random, self._notify)
        self.herald = PostgresHerald(channel, self._exchange.name)
        self._listener = Listener(
            address, channel, heard=self._exchange.hear, missed=self._exchange.suspect, random=random, pace=pace
        )
        self._notifier = Notifier(address, channel, random=random, pace=pace)

    @classmethod
    async def open(cls, address: Address, *, random: Random, pace: Pace | None = None) -> "PostgresHub":
        """Be ready to send; ConfigurationError if a pooler stands between, StoreUnavailable if there is no server."""
        await check_sessions(address)
        return cls(address, random=random, pace=pace or Pace())

    async def subscribe(self) -> "PostgresSignals":
        """A `Signals` of its own for one part of the process; it remembers what comes from now on.

        The first one begins to listen: every notification wakes whoever does, and a process that only adds needn't be.
        """
        await self._listener.open()
        subscriber = PostgresSignals(self)
        self._exchange.join(subscriber.subscriber)
        return subscriber

    def sender(self) -> "PostgresSignals":
        """A `Signals` for somebody who only notifies."""
        return PostgresSignals(self)

    def unsubscribe(self, subscriber: "PostgresSignals") -> None:
        """Forget a subscriber; twice changes nothing."""
        self._exchange.leave(subscriber.subscriber)

    async def publish(self, topics: Sequence[str]) -> None:
        """Wake the subscribers of this process at once, and those of all others by the server."""
        self._exchange.deliver(topics)
        await self._exchange.send(topics)

    async def close(self) -> None:
        """Let both connections go, without waiting for the server."""
        await self._listener.close()
        await self._notifier.close()

    async def _notify(self, name: str, topics: Sequence[str]) -> None:
        payloads = list(_payloads(name, self.herald.untold(topics)))
        if payloads:
            await self._notifier.send(payloads)


class PostgresSignals:
    """One subscriber of a hub, or somebody who only notifies through it."""

    def __init__(self, hub: PostgresHub) -> None:
        self._hub = hub
        self.subscriber = Subscriber()

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics*, in every process on the same store."""
        await self._hub.publish(topics)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        return await self.subscriber.wait(topics, at_most)

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
