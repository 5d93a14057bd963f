"""Finds the jobs that the planner must look at, minute by minute, in the shards that are its own.

What was read is remembered for seconds, so that a quiet timetable costs a handful of reads however often it is asked;
the minute that is on is read every time. A cursor stays behind what is still to be done and a while behind now, so that
nobody wades through what was removed. From time to time all is looked at again, in case a process with a slow clock or
a long pause listed something behind the cursor; and so it is when shards come or go, since whoever had them before may
have died long ago.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.jobs import Stored
from mainspring.adapters.cassandra.judging import FORGOTTEN, SLACK, Found, examine
from mainspring.adapters.cassandra.layout import EVERYTHING, SHARDS, TRAIL, slot_of, slot_start, span_of
from mainspring.adapters.cassandra.listing import Place, entry_of
from mainspring.adapters.cassandra.rows import Span
from mainspring.adapters.cassandra.tables import TIMETABLE, TIMETABLE_SLOT
from mainspring.adapters.cassandra.values import number

ALL = frozenset(range(SHARDS))
PAGE = 100
MOST_AHEAD = 64
"""Places to come that are looked into for the next entry; edits may have left some without any."""

_ABREAST = 4
"""Places that are looked into at once: more would read more jobs than the planner takes."""
_REMEMBERED = span_of(timedelta(seconds=5))
_LINGERING = span_of(timedelta(seconds=2))
"""A minute counts as on for so much longer: clocks differ."""
_AGAIN = span_of(timedelta(minutes=5))
"""How often what lies behind the cursor is looked at again."""


@dataclass(slots=True)
class Sight:
    """What there is to do, as of *now*."""

    now: int
    jobs: list[Stored] = field(default_factory=list)
    more: bool = False
    """Whether others may be due, too."""
    next_at: int | None = None
    """When the next job that isn't due yet is to be looked at, or a little earlier."""

    def announce(self, moment: int | None) -> None:
        """Something comes at *moment*."""
        if moment is not None:
            self.next_at = moment if self.next_at is None else min(self.next_at, moment)


class Lookout:
    """One process's view of the timetable."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._shards = ALL
        self._cursor = 0
        self._again_at = 0
        self._quiet: dict[Place, int] = {}
        """When places whose minute is over were found to hold nothing to do."""
        self._ahead = Sight(0)

    def forget(self) -> None:
        """Remember nothing: this process has changed the timetable itself."""
        self._quiet.clear()
        self._ahead = Sight(0)

    async def look(self, limit: int, shards: frozenset[int]) -> Sight:
        """The jobs of *shards* that are due: all, or else more than *limit* or about as many."""
        sight = Sight(self._context.now())
        if sight.now >= self._again_at or shards != self._shards:
            self._shards, self._cursor, self._again_at = shards, 0, sight.now + _AGAIN
            self.forget()
        await self._look_at_due(sight, limit)
        if not sight.more:
            await self._look_ahead(sight)
        return sight

    async def _look_at_due(self, sight: Sight, limit: int) -> None:
        last = slot_of(sight.now + SLACK)
        span = Span(first=(slot_of(self._cursor),), last=(last,))
        progress = _Progress(
            cursor=sight.now - span_of(TRAIL), forgotten=sight.now - FORGOTTEN, unbroken=self._cursor == 0
        )
        while not sight.more:
            places = await self._directory(span, PAGE)
            for start in range(0, len(places), _ABREAST):
                await self._examine(places[start : start + _ABREAST], sight, limit, progress)
                if sight.more:
                    break
            if len(places) < PAGE:
                break
            span = Span(after=(places[-1].slot, places[-1].part), last=(last,))
        self._cursor = progress.cursor
        if progress.cleared is not None:
            await self._clear(progress.cleared, until=sight.now)

    async def _examine(self, places: Sequence[Place], sight: Sight, limit: int, progress: "_Progress") -> None:
        loud = [place for place in places if not self._is_quiet(place, sight.now)]
        look = partial(self._look_into, sight=sight, limit=limit, progress=progress)
        for place, found in zip(loud, await abreast(look, loud), strict=True):
            sight.jobs += found.jobs
            sight.more = sight.more or found.more or len(sight.jobs) > limit
            sight.announce(found.next_at)
            progress.take(place, found)
            if not found.jobs:
                self._quiet[place] = sight.now

    async def _look_into(self, place: Place, *, sight: Sight, limit: int, progress: "_Progress") -> Found:
        if place.part in self._shards:
            return await examine(self._context, place, since=self._cursor, now=sight.now, enough=limit // _ABREAST)
        # Not ours to fire; but whoever finds that the first places are all done with clears the directory of them.
        over = progress.unbroken and _end(place) <= progress.forgotten
        return Found(empty=over and not await self._context.rows.slice(TIMETABLE, place.partition, limit=1))

    def _is_quiet(self, place: Place, now: int) -> bool:
        seen_at = self._quiet.get(place)
        return seen_at is not None and _end(place) + _LINGERING <= seen_at and now < seen_at + _REMEMBERED

    async def _look_ahead(self, sight: Sight) -> None:
        ahead = self._ahead
        if slot_of(ahead.now + SLACK) != slot_of(sight.now + SLACK) or ahead.now + _REMEMBERED <= sight.now:
            ahead = self._ahead = await self._first_ahead(sight.now)
        sight.announce(ahead.next_at)

    async def _first_ahead(self, now: int) -> Sight:
        sight = Sight(now)
        places = await self._directory(Span(after=(slot_of(now + SLACK),)), MOST_AHEAD)
        for place in (place for place in places if place.part in self._shards):
            if sight.next_at is not None and sight.next_at < slot_start(place.slot):
                return sight
            for row in await self._context.rows.slice(TIMETABLE, place.partition, limit=1):
                sight.announce(entry_of(row).at)
        if sight.next_at is None and len(places) == MOST_AHEAD:
            sight.announce(slot_start(places[-1].slot))
        return sight

    async def _directory(self, span: Span, limit: int) -> Sequence[Place]:
        rows = await self._context.rows.slice(TIMETABLE_SLOT, (EVERYTHING,), span, limit=limit)
        return [Place(number(row, "slot"), number(row, "part")) for row in rows]

    async def _clear(self, last: Place, *, until: int) -> None:
        """Take minutes out of the directory, but for those that somebody has put there again."""
        span = Span(last=(last.slot, last.part))
        await self._context.rows.delete_range(TIMETABLE_SLOT, (EVERYTHING,), span, until=until)


@dataclass(slots=True, kw_only=True)
class _Progress:
    """How far the timetable is done with; places come in order."""

    cursor: int
    """Nothing that is listed before this needs to be looked at again."""
    forgotten: int
    unbroken: bool
    """Whether all places from the very first on are empty and long over."""
    cleared: Place | None = None
    """The last of those."""

    def take(self, place: Place, found: Found) -> None:
        """Go on by one place."""
        if found.waiting_since is not None:
            self.cursor = min(self.cursor, found.waiting_since)
        self.unbroken = self.unbroken and found.empty and _end(place) <= self.forgotten
        if self.unbroken:
            self.cleared = place


def _end(place: Place) -> int:
    return slot_start(place.slot + 1)
