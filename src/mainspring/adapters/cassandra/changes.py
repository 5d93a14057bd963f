"""The Changes port: reads the log that the ledger writes, and tells things as they are now."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.arrivals import Arrivals
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.holding import running_rows
from mainspring.adapters.cassandra.jobs import find_job
from mainspring.adapters.cassandra.layout import TRAIL, slot_of, span_of
from mainspring.adapters.cassandra.ledger import PARTS
from mainspring.adapters.cassandra.packing import apart
from mainspring.adapters.cassandra.records import run_of
from mainspring.adapters.cassandra.rows import Key, Row, Span
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.tables import CHANGE
from mainspring.adapters.cassandra.telling import counts, latest, watched_only
from mainspring.adapters.cassandra.values import identity, number
from mainspring.domain.ids import JobId, RunId
from mainspring.ports.changes import MOST_BEHIND, MOST_RUNNING, Batch, JobChange, Position, RunChange

KEPT = timedelta(hours=1)
"""For how long a position is good; entries vanish later than that."""
SOON = timedelta(seconds=1)
"""How late entries come to light as a rule. For those up to TRAIL late, more is read every DEEPER."""
DEEPER = timedelta(seconds=10)
MOST_WORKERS = 100
"""Workers that are asked for what they hold several times a second; where there are more, that isn't told."""

_PLACES = 16
"""Partitions of the log that are read before it is asked whether that is enough."""
_PAGE = 1_000
"""Rows of a partition that are read before it is asked whether that is enough."""
_POSITION = re.compile(r"(\d{1,18})\.([0-9a-f]{32})\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Place:
    """So many entries had arrived at *process* at an instant."""

    at: int
    process: UUID
    arrived: int

    def to_position(self) -> Position:
        return Position(f"{self.at}.{self.process.hex}.{self.arrived}")


@dataclass(frozen=True, slots=True)
class _News:
    """Entries of the log that weren't told before *seen*, and where we are after them."""

    rows: Sequence[Row]
    seen: _Place
    place: _Place
    exact: bool
    """Whether nothing among them was told before; otherwise the last half minute before *seen* may have been."""


class CassandraChanges:
    """Follows the log. Whoever comes from another process is told the half minute before its place once more."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._arrivals = Arrivals()
        self._deeper_at = 0

    async def position(self) -> Position:
        """Here and now, with all read that can be."""
        self._deeper_at = 0
        news = await self._news(_Place(self._context.now(), self._context.process, self._arrivals.count))
        return news.place.to_position()

    async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
        """What has arrived since *position*, as it is now; counts go by what the log says."""
        seen = self._place(position)
        if seen is None:
            return None
        news = await self._news(seen)
        if len(news.rows) > MOST_BEHIND:
            return None
        changed = latest(news.rows)
        told = changed if len(changed) <= most else watched_only(changed, watched)
        runs = await self._runs(told, news)
        if runs is None:
            return None
        return Batch(
            position=news.place.to_position(),
            runs=runs[-most:],
            jobs=await self._jobs(told),
            counts=None if len(changed) <= most else counts(changed),
            running=await self._running(),
        )

    def _place(self, position: str) -> _Place | None:
        """Where that is, unless it is too long ago, or hasn't come yet."""
        match = _POSITION.fullmatch(position)
        if match is None:
            return None
        place = _Place(int(match[1]), UUID(hex=match[2]), int(match[3]))
        now = self._context.now()
        return place if now - span_of(KEPT) < place.at <= now + span_of(TRAIL) else None

    async def _news(self, seen: _Place) -> _News:
        await self._context.ledger.written()
        now = self._context.now()
        known_from = max(self._arrivals.horizon, now - span_of(TRAIL))
        exact = seen.process == self._context.process and seen.at >= known_from
        deep = not exact or now >= self._deeper_at
        rows = await self._entries(seen.at - span_of(TRAIL if deep else SOON), now)
        if deep:
            self._deeper_at = now + span_of(DEEPER)
            self._arrivals.forget(now - 2 * span_of(TRAIL))
        self._arrivals.take(rows)
        fresh = self._arrivals.after(seen.arrived) if exact else rows
        return _News(fresh, seen, _Place(now, self._context.process, self._arrivals.count), exact)

    async def _entries(self, start: int, now: int) -> Sequence[Row]:
        """The log from *start* on, until there is more than anybody wants to be told."""
        # The minute after this one too: clocks differ.
        places = [(slot, part) for slot in range(slot_of(start), slot_of(now) + 2) for part in range(PARTS)]
        found: list[Row] = []
        for first in range(0, len(places), _PLACES):
            answers = await abreast(lambda place: self._slice(place, start), places[first : first + _PLACES])
            found += [row for answer in answers for row in answer]
            if len(found) > MOST_BEHIND:
                break
        return found

    async def _slice(self, place: Key, start: int) -> Sequence[Row]:
        found: list[Row] = []
        span = Span(first=(start,))
        while True:
            rows = await self._context.rows.slice(CHANGE, place, span, limit=_PAGE)
            found += apart(rows)
            if len(rows) < _PAGE or len(found) > MOST_BEHIND:
                return found
            span = Span(after=(rows[-1]["at"], rows[-1]["id"], rows[-1]["fence"]))

    async def _runs(self, told: Sequence[Row], news: _News) -> Sequence[RunChange] | None:
        """The runs as they are now; None if one was forgotten before it was told."""
        entries = {identity(row, "id"): row for row in told if not row["standing"]}
        found = await read(self._context, entries)
        for run_id, row in entries.items():
            if run_id not in found and (news.exact or number(row, "at") > news.seen.at):
                return None
        return [RunChange.of(run_of(found[run_id])) for run_id in entries if run_id in found]

    async def _running(self) -> Mapping[RunId, RunChange] | None:
        rows = await running_rows(self._context, MOST_RUNNING, workers=MOST_WORKERS)
        return None if rows is None else {RunId(identity(row, "id")): RunChange.of(run_of(row)) for row in rows}

    async def _jobs(self, told: Sequence[Row]) -> Sequence[JobChange]:
        entries = [row for row in told if row["standing"]]
        found = await abreast(lambda row: find_job(self._context, identity(row, "id")), entries)
        return [JobChange.of(stored.job) for stored in found if stored is not None]
