"""Signals between machines without a server that tells anybody anything: one small partition, read again and again.

A process wakes its own subscribers itself; what others have notified it finds by polling, while somebody waits.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from mainspring.adapters.alarm import fine_alarm
from mainspring.adapters.cassandra.layout import EVERYTHING
from mainspring.adapters.cassandra.rows import Put, Rows, Value
from mainspring.adapters.cassandra.tables import SIGNAL
from mainspring.adapters.inbox import Inbox
from mainspring.errors import StoreError
from mainspring.ports.time import Clock, Random

EAGER = timedelta(milliseconds=100)
"""Between two looks while there is something to see now and then."""
LAZY = timedelta(milliseconds=250)
"""Between two looks after a long silence: what comes then is a little late, and an idle cluster has its peace."""
SILENCE = timedelta(seconds=10)
MOST_TOPICS = 1000
_STAMP_BITS = 62


class CassandraHub:
    """All signals of one process and store. Belongs to the event loop that opened it."""

    def __init__(self, rows: Rows, *, clock: Clock, random: Random) -> None:
        self._rows = rows
        self._clock = clock
        self._random = random
        self._subscribers: list[CassandraSignals] = []
        self._known: dict[Value, Value] = {}
        """The stamp of each topic when it was last read."""
        self._own: dict[Value, None] = {}
        """Stamps of this process, the latest last: its subscribers have heard of them."""
        self._waiting = 0
        self._wanted = asyncio.Event()
        self._polling: asyncio.Task[None] | None = None
        self._heard_at = clock.monotonic()

    @classmethod
    async def open(cls, rows: Rows, *, clock: Clock, random: Random) -> "CassandraHub":
        """Begin to poll; what was notified before is nobody's concern."""
        hub = cls(rows, clock=clock, random=random)
        await hub._news()
        hub._polling = asyncio.create_task(hub._poll())
        return hub

    def subscribe(self) -> "CassandraSignals":
        """A `Signals` of its own for one part of the process; it remembers what came since now."""
        subscriber = CassandraSignals(self)
        self._subscribers.append(subscriber)
        return subscriber

    def sender(self) -> "CassandraSignals":
        """A `Signals` for somebody who only notifies."""
        return CassandraSignals(self)

    def unsubscribe(self, subscriber: "CassandraSignals") -> None:
        """Forget a subscriber; twice changes nothing."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    async def publish(self, topics: Sequence[str]) -> None:
        """Wake the subscribers of this process at once, and those of all others when they next look."""
        if not topics:
            return
        self._deliver(topics)
        stamp = self._random.bits(_STAMP_BITS)
        self._own[stamp] = None
        while len(self._own) > MOST_TOPICS:
            del self._own[next(iter(self._own))]
        signals = [_signal(topic, stamp) for topic in dict.fromkeys(topics)]
        with suppress(StoreError):  # a hint may be lost
            await self._rows.put(signals)

    def begin_wait(self) -> None:
        """Somebody wants to know of signals from elsewhere."""
        self._waiting += 1
        self._wanted.set()

    def end_wait(self) -> None:
        """No longer."""
        self._waiting -= 1
        if not self._waiting:
            self._wanted.clear()

    async def close(self) -> None:
        """Look no more."""
        if self._polling is not None:
            self._polling.cancel()
            with suppress(asyncio.CancelledError):
                await self._polling

    async def _poll(self) -> None:
        while True:
            await self._wanted.wait()
            with suppress(StoreError):  # whatever was missed is still there at the next look
                news = await self._news()
                if news:
                    self._heard_at = self._clock.monotonic()
                    self._deliver(news)
            silent = self._clock.monotonic() - self._heard_at > SILENCE.total_seconds()
            await self._clock.sleep(LAZY if silent else EAGER)

    async def _news(self) -> Sequence[str]:
        """Topics that others have notified since the last look."""
        found = await self._rows.slice(SIGNAL, (EVERYTHING,), limit=MOST_TOPICS)
        stamps = {row["topic"]: row["stamp"] for row in found}
        news = [topic for topic, stamp in stamps.items() if self._known.get(topic) != stamp and stamp not in self._own]
        self._known = stamps
        return [str(topic) for topic in news]

    def _deliver(self, topics: Sequence[str]) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber.receive(topics)


class CassandraSignals:
    """One subscriber of a hub, or somebody who only notifies through it."""

    def __init__(self, hub: CassandraHub) -> None:
        self._hub = hub
        self._inbox = Inbox(fine_alarm)

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics*, in every process on the same store."""
        await self._hub.publish(topics)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait, False after *at_most*."""
        self._hub.begin_wait()
        try:
            return await self._inbox.wait(topics, at_most)
        finally:
            self._hub.end_wait()

    def receive(self, topics: Sequence[str]) -> None:
        """Take *topics* in."""
        self._inbox.deliver(topics)

    async def close(self) -> None:
        """Take leave of the hub."""
        self._hub.unsubscribe(self)
        self._inbox.close()


def _signal(topic: str, stamp: int) -> Put:
    return Put(table=SIGNAL, row={"everything": EVERYTHING, "topic": topic, "stamp": stamp})
