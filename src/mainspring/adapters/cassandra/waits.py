"""How long until the next run of a lane wakes."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.due import Entry, Lead, Minutes, lead, open_minutes
from mainspring.adapters.cassandra.layout import slot_of, slot_start
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.shelf import Shelf
from mainspring.domain.ids import Lane

_SAMPLE, _LARGEST_SAMPLE = 4, 256
"""Entries of each shelf that are looked at together, at first and after many that led nowhere."""
_MOST_MINUTES = 8
"""Minutes full of entries that lead nowhere, after which the next one's beginning is told."""
_SOON, _LATER = 0.25, 5.0
"""Seconds for which an answer about the next minute, and about those after it, is good."""
_MICROSECOND = timedelta(microseconds=1)


class Waits:
    """Reads little where it can: what this process was told a moment ago about later minutes is told again."""

    def __init__(self, context: Context, shelf: Callable[[Lane, int], Shelf]) -> None:
        self._context = context
        self._shelf = shelf
        self._told: dict[Lane, tuple[int, int, float]] = {}

    def forget(self) -> None:
        """Somebody here has changed when a run wakes."""
        self._told.clear()

    async def next(self, lane: Lane, minutes: Minutes, now: int) -> timedelta | None:
        """The wait until the first run wakes that wakes after *now*; None if there is none."""
        here = slot_of(now)
        if minutes.glimpsed is not None:
            told = self._remembered(lane, minutes.glimpsed, here)
            if told is not None:
                return max(told - now, 0) * _MICROSECOND
            minutes = await open_minutes(self._context, lane, here)
        for count, (minute, shards) in enumerate(minutes.since(here).items()):
            first = slot_start(minute) if count == _MOST_MINUTES else await self._first(lane, minute, shards, now)
            if first is not None:
                return max(first - now, 0) * _MICROSECOND
        # What was left out begins there, unless it is as old as the backlog: then nobody need wait for it.
        later = minutes.known_until
        return None if later is None or later <= now else (later - now) * _MICROSECOND

    async def _first(self, lane: Lane, minute: int, shards: Sequence[int], now: int) -> int | None:
        moment, here = self._context.clock.monotonic(), slot_of(now)
        told = self._remembered(lane, minute, here)
        if told is not None:
            return told
        first = await self._read(lane, minute, shards, now)
        if first is not None:
            self._told[lane] = minute, first, moment + (_SOON if minute <= here + 1 else _LATER)
        return first

    def _remembered(self, lane: Lane, minute: int, here: int) -> int | None:
        """What was told a moment ago about a later minute: when its first run wakes."""
        told = self._told.get(lane)
        if told is None or told[0] != minute or minute <= here or self._context.clock.monotonic() >= told[2]:
            return None
        return told[1]

    async def _read(self, lane: Lane, minute: int, shards: Sequence[int], now: int) -> int | None:
        shelves = [self._shelf(lane, shard) for shard in shards]
        sample = _SAMPLE
        while True:
            pages = await asyncio.gather(*(shelf.next_after(minute, now, sample) for shelf in shelves))
            entries = sorted((entry for page in pages for entry in page), key=lambda entry: entry.wake_at)
            if not entries:
                return None
            rows = await read(self._context, [entry.id for entry in entries])
            for entry in entries:
                if lead(entry, rows.get(entry.id), now) is not Lead.NOWHERE:
                    return max(entry.wake_at, entry.since)
            await self._pass_over(entries)
            sample = min(4 * sample, _LARGEST_SAMPLE)

    async def _pass_over(self, entries: Sequence[Entry]) -> None:
        """Most tickets start their runs at once: what they leave behind goes with its minute, not one by one."""
        for entry in entries:
            shelf = self._shelf(entry.lane, entry.shard)
            if entry.ticketed:
                shelf.drop([entry])
            else:
                await shelf.remove(entry)
