"""Time that only moves when a test says so, and one word for "let time pass" that real servers understand too."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Protocol

START = datetime(2026, 1, 5, 12, tzinfo=UTC)


class ManualClock:
    """A `Clock` for one event loop: `advance` moves it and wakes whoever slept that long."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._elapsed = timedelta(0)
        self._numbers = count()
        self._sleepers: list[tuple[timedelta, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        """The instant that was set."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that the clock was advanced by; setting it back or forth doesn't count."""
        return self._elapsed.total_seconds()

    async def sleep(self, duration: timedelta) -> None:
        """Return once the clock was advanced by *duration*; at once, after a turn of the loop, for none."""
        if duration <= timedelta(0):
            await asyncio.sleep(0)
            return
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + duration, next(self._numbers), awake))
        await awake

    def set(self, now: datetime) -> None:
        """Put the wall clock to *now*, as an administrator would: nobody has slept any longer."""
        self._now = now

    def advance(self, by: timedelta) -> None:
        """Let *by* pass; sleepers whose time has come wake in the order of their times."""
        self._now += by
        self._elapsed += by
        while self._sleepers and self._sleepers[0][0] <= self._elapsed:
            _, _, awake = heapq.heappop(self._sleepers)
            if not awake.done():
                awake.set_result(None)


class Time(Protocol):
    """How a contract suite lets time pass for a store, whoever owns the store's clock."""

    async def pass_(self, duration: timedelta) -> None:
        """Return once at least *duration* has passed by the store's clock."""
        ...


class ManualTime:
    """For stores whose `now` comes from a `ManualClock`."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    async def pass_(self, duration: timedelta) -> None:
        """Advance the clock by exactly *duration*."""
        self._clock.advance(duration)


class RealTime:
    """For stores with a clock of their own."""

    async def pass_(self, duration: timedelta) -> None:
        """Wait for as long."""
        await asyncio.sleep(duration.total_seconds())
