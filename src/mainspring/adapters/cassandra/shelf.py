"""How far one process has read and cleared a shelf: one shard's part of one lane in the due index.

Entries that lead nowhere any more are remembered until they are old enough to be removed by one range: a removal must
never reach where an entry may still be written.
"""

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import timedelta
from itertools import takewhile
from typing import Any

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.due import Entry, Mark
from mainspring.adapters.cassandra.layout import TRAIL, slot_of, slot_start, span_of
from mainspring.adapters.cassandra.rows import ALL, Key, Span, only
from mainspring.adapters.cassandra.tables import DUE, DUE_SLOT
from mainspring.domain.ids import Lane

_PAGE = 250
_MOST_PAGES = 16
_STOCK_LASTS = 1.0
"""Seconds for which a few entries that were read ahead are good: a higher priority that comes later waits so long.
As many as are wanted are good until they are used up: reading again would bring the same."""
_FEW = 50
"""As long as no more entries are remembered as gone, a look begins where the shelf was cleared to: what was written
late is then found at once. On a busy shelf it begins behind what is gone, and the clearing finds what was late."""
_CLEARED_EVERY = span_of(timedelta(seconds=10))


class Shelf:
    """What this process knows of one shard's part of one lane."""

    def __init__(self, context: Context, lane: Lane, shard: int) -> None:
        self.lane = lane
        self.shard = shard
        self._context = context
        self._cleared_to = 0
        """Nothing waits before this instant."""
        self._cleared_at = 0
        self._front: Key | None = None
        """Everything up to here is gone, but for what was written late."""
        self._gone: set[Mark] = set()
        self._upcoming: tuple[int, Sequence[Entry]] = (0, ())
        self._stock: Sequence[Entry] = ()
        self._stocked_at = 0.0
        self.more = False
        """Whether entries have woken behind those that were read."""
        self.doubtful = True
        """Whether others may have taken what its entries lead to: they had, when it was last looked at."""

    def drop(self, entries: Iterable[Entry]) -> None:
        """Pass over these from now on."""
        self._gone.update([entry.mark for entry in entries])

    async def look(self, minutes: Sequence[int], now: int, want: int) -> Sequence[Entry]:
        """The entries that have woken and aren't gone, the oldest first; of many, about as many as are wanted."""
        moment = self._context.clock.monotonic()
        left = self._left(self._stock)
        recent = moment - self._stocked_at < _STOCK_LASTS
        if left and self.more and (recent or len(left) >= want):
            return left
        self._stock, self.more = await self._fetch(minutes, now, want)
        self._stocked_at = moment
        return self._stock

    async def _fetch(self, minutes: Sequence[int], now: int, want: int) -> tuple[Sequence[Entry], bool]:
        """Entries as `look` has them, and whether there are more."""
        self._upcoming = now, ()
        self._pass()
        begin = self._front if len(self._gone) > _FEW else None
        fresh: list[Entry] = []
        passing = True
        minutes = [minute for minute in minutes if begin is None or minute >= slot_of(_wake(begin))]
        size = min(_PAGE, want + (len(self._gone) if begin is None else 0))
        async with aclosing(self._pages(minutes, begin, size)) as pages:
            async for page in pages:
                woken = [entry for entry in page if entry.wake_at <= now]
                left = self._left(woken)
                gone = list(takewhile(self._is_gone, woken)) if passing else []
                self._front = gone[-1].key if gone else self._front
                passing = passing and not left
                fresh += left
                if len(woken) < len(page):
                    self._upcoming = now, page[len(woken) :]
                    return fresh, False
                if len(fresh) >= want:
                    return fresh, True
        return fresh, False

    def _pass(self) -> None:
        """Move the front over what was read ahead and is gone by now, so that it isn't read again."""
        gone = list(takewhile(self._is_gone, self._stock))
        if gone:
            self._front = gone[-1].key
        self._stock = ()

    async def _pages(
        self, minutes: Sequence[int], begin: Key | None, size: int
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """The entries of *minutes* after *begin*, or else from where the shelf was cleared to; up to some bound."""
        after, most = begin, _MOST_PAGES
        for minute in minutes:
            while most > 0:
                span = Span(first=(self._cleared_to,)) if after is None else Span(after=after)
                rows = await self._context.rows.slice(DUE, self._partition(minute), span, limit=size)
                if rows:
                    page = self._entries(rows)
                    after, most = page[-1].key, most - 1
                    yield page
                if len(rows) < size:
                    break

    async def next_after(self, minute: int, now: int, most: int) -> Sequence[Entry]:
        """The first entries of *minute* that wake after *now*, from the last look if that was at the same time."""
        looked_at, upcoming = self._upcoming
        if looked_at == now and minute == slot_of(now) and (left := self._left(upcoming)):
            return left[:most]
        span, size = Span(after=(now,)), most
        while page := self._entries(await self._context.rows.slice(DUE, self._partition(minute), span, limit=size)):
            left = self._left(page)
            if left or len(page) < size:
                return left[:most]
            span, size = Span(after=page[-1].key), min(4 * size, _PAGE)
        return ()

    async def remove(self, entry: Entry) -> None:
        """Take away an entry that leads nowhere; its key has the fence, so that no other can be meant.

        One that was written by a clock ahead of ours outlives that, and is passed over.
        """
        self.drop([entry])
        await self._context.rows.delete_range(DUE, self._partition(slot_of(entry.wake_at)), only(entry.key))

    def _left(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        gone = self._gone
        return [entry for entry in entries if entry.mark not in gone]

    def _is_gone(self, entry: Entry) -> bool:
        return entry.mark in self._gone

    async def clear(self, minutes: Sequence[int], now: int, known_until: int | None) -> None:
        """Remove what is gone and old enough, and the minutes that are over; now and then.

        *minutes* are all that are open before *known_until*, or all there are.
        """
        edge = now - span_of(TRAIL)
        if known_until is not None:
            edge = min(edge, known_until)
        if now - self._cleared_at < _CLEARED_EVERY or edge <= self._cleared_to:
            return
        self._cleared_at = now
        over = [minute for minute in minutes if slot_start(minute) <= edge]
        to = await self._first_left(over, edge)
        littered = {slot_of(wake_at) for wake_at, _, _ in self._gone if wake_at < to}
        await self._take_away(over, littered, to, now)
        if to < edge:
            # What was found is looked at next, though others behind it are gone.
            self._front, self._stock = None, ()
        self._cleared_to = to
        self._gone = {mark for mark in self._gone if mark[0] >= to}

    async def _take_away(self, minutes: Sequence[int], littered: Collection[int], to: int, now: int) -> None:
        """Remove what lies before *to*."""
        for minute in minutes:
            if slot_start(minute + 1) <= to:
                await self._context.rows.delete_range(DUE, self._partition(minute), ALL, until=now)
                await self._context.rows.delete_range(DUE_SLOT, (self.lane,), only((minute, self.shard)), until=now)
            elif minute in littered:
                await self._context.rows.delete_range(DUE, self._partition(minute), Span(before=(to,)), until=now)

    async def _first_left(self, minutes: Sequence[int], edge: int) -> int:
        """The first instant before *edge* of which something isn't gone, or may not be; or *edge*."""
        count = 0
        async with aclosing(self._pages(minutes, None, _PAGE)) as pages:
            async for page in pages:
                for entry in page:
                    if entry.wake_at >= edge:
                        return edge
                    if entry.mark not in self._gone:
                        return entry.wake_at
                count += 1
                if count == _MOST_PAGES:
                    return page[-1].wake_at
        return edge

    def _partition(self, minute: int) -> Key:
        return self.shard, self.lane, minute

    def _entries(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Entry]:
        return [
            Entry(
                self.lane,
                self.shard,
                row["wake_at"],
                row["id"],
                row["fence"],
                row["priority"],
                row["since"],
                bool(row["ticketed"]),
                row["copy"],
            )
            for row in rows
        ]


def _wake(key: Key) -> int:
    wake_at = key[0]
    return wake_at if isinstance(wake_at, int) else 0
