"""Signals between machines by PUBLISH and SUBSCRIBE: one hub per process, with two connections however many subscribe.

A process wakes its own subscribers itself. While the server can't be reached, signals go another way, the store's own,
and whoever waits is told when that changes: what was lost in between costs a poll interval.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from mainspring.adapters.exchange import SEPARATOR, Exchange, Subscriber
from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.hearing import Listener, Notifier
from mainspring.ports.signals import Signals
from mainspring.ports.time import Random

LOOK = timedelta(seconds=1)
"""How long somebody who waits the other way doesn't notice that the server is back."""

_AT_ONCE = timedelta(0)


class RedisHub:
    """All signals of one process. Belongs to the event loop that opened it."""

    def __init__(self, address: Address, *, random: Random, pace: Pace) -> None:
        channel = channel_of(address.database)
        self._exchange = Exchange(random, self._notify)
        self._listener = Listener(
            address, channel, heard=self._exchange.hear, missed=self._exchange.suspect, random=random, pace=pace
        )
        self._notifier = Notifier(address, channel, random=random, pace=pace)
        self._sent = True

    @classmethod
    async def open(cls, address: Address, *, random: Random, pace: Pace | None = None) -> "RedisHub":
        """Be ready to send, now or when the server is back; ConfigurationError if it refuses us."""
        hub = cls(address, random=random, pace=pace or Pace())
        try:
            await hub._notifier.open()
        except BaseException:
            await hub.close()
            raise
        return hub

    async def subscribe(self, instead: Signals) -> "RedisSignals":
        """A `Signals` of its own for one part of the process; it remembers what comes from now on."""
        await self._listener.open()
        subscriber = RedisSignals(self, instead)
        self._exchange.join(subscriber.subscriber)
        return subscriber

    def sender(self, instead: Signals) -> "RedisSignals":
        """A `Signals` for somebody who only notifies."""
        return RedisSignals(self, instead)

    def unsubscribe(self, subscriber: "RedisSignals") -> None:
        """Forget a subscriber; twice changes nothing."""
        self._exchange.leave(subscriber.subscriber)

    @property
    def hears(self) -> bool:
        """Whether subscribers are told of what others notify."""
        return self._listener.hears

    async def publish(self, topics: Sequence[str]) -> bool:
        """Wake the subscribers of this process and of all others; False if some may have to be told another way."""
        reachable = self.hears or not self._exchange.used
        if reachable:
            self._exchange.deliver(topics)
        await self._exchange.send(topics)
        return reachable and self._sent

    async def close(self) -> None:
        """Let both connections go."""
        await self._listener.close()
        await self._notifier.close()

    async def _notify(self, name: str, topics: Sequence[str]) -> None:
        self._sent = await self._notifier.send(SEPARATOR.join((name, *topics)))


class RedisSignals:
    """One subscriber of a hub, or somebody who only notifies through it; *instead* serves while the server is away."""

    def __init__(self, hub: RedisHub, instead: Signals) -> None:
        self._hub = hub
        self._instead = instead
        self.subscriber = Subscriber()

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics*, in every process on the same server, or on the same store."""
        if not await self._hub.publish(topics):
            await self._instead.notify(topics)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        loop = asyncio.get_running_loop()
        end = loop.time() + at_most.total_seconds()
        while not self._hub.hears and (left := end - loop.time()) > 0:
            if await self.subscriber.wait(topics, _AT_ONCE):
                return True
            if await self._instead.wait(topics, min(timedelta(seconds=left), LOOK)):
                return True
        return await self.subscriber.wait(topics, timedelta(seconds=end - loop.time()))

    async def close(self) -> None:
        """Take leave of the hub."""
        self._hub.unsubscribe(self)


def channel_of(database: int) -> str:
    """The channel of those who use *database*: unlike keys, channels are common to all databases of a server."""
    return f"job_scheduler:signals:{database}"
