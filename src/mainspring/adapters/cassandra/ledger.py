"""What happened, for statistics and for whoever follows: written after it was decided, in one plain write.

Whoever claims or settles doesn't wait for that: it is written behind their backs, joined with what else happens until
the write before has ended.

Each process adds up what it has done itself and overwrites its own totals, so that nobody waits for a shared counter
and repeating a write changes nothing. Now and then it turns to a new page, and the old one is never written again:
others may then fold it into the totals (see `folding`), whether its process lives or not. What a process decided in
the instant in which it was killed is missing from the figures; it is never missing from the runs.
"""

import asyncio
import json
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.layout import micros, slot_of
from mainspring.adapters.cassandra.packing import together
from mainspring.adapters.cassandra.rows import Put, Row, Rows
from mainspring.adapters.cassandra.tables import CHANGE, TALLY
from mainspring.domain.hot import hot
from mainspring.domain.ids import Lane
from mainspring.domain.run import Origin, State
from mainspring.errors import StoreUnavailable
from mainspring.ports.time import Clock
from mainspring.ports.views import LONGEST_WAIT, MOST_WAITED, WAIT_BUCKETS

PARTS = 4
"""Partitions of the changes of one minute."""
PAGE_LASTS = timedelta(hours=6)
"""Nothing is added to a page that is older."""
TALLY_PARTS = 16
"""Partitions of the pages: what was folded out of one isn't in the way of those who read the others."""

Group = tuple[str, Lane, Origin]
_IDS = 1 << 128


@hot
class Noted:
    """One thing that happened to a run, or to a standing job (then only *id*, *owner*, *fence* and *state* count)."""

    id: UUID
    owner: str
    fence: int
    """The version, of a job."""
    state: int
    job_id: UUID | None = None
    """Whose run it is, so that whoever watches that job is told however much else happens."""
    standing: bool = False
    lane: Lane = Lane("")
    kind: Origin = Origin.IMMEDIATE
    added: int = 0
    started: int = 0
    retried: int = 0
    lost: int = 0
    ended: int = 0
    """How many runs reached *state*; more than one for a skipped range."""
    running: int = 0
    """1 when it came into a worker's hands, -1 when it left them."""
    wait: timedelta | None = None
    """How late it started."""
    told: bool = True
    """Whether followers learn of it; a run that goes back to the queue isn't told."""


@dataclass(slots=True)
class Totals:
    """What one process has done of one group."""

    added: int = 0
    started: int = 0
    retried: int = 0
    lost: int = 0
    running: int = 0
    waited: timedelta = timedelta(0)
    ended: dict[State, int] = field(default_factory=dict)
    waits: list[int] = field(default_factory=lambda: [0] * (len(WAIT_BUCKETS) + 1))

    def take(self, noted: Noted) -> None:
        """Add what happened."""
        self.added += noted.added
        self.started += noted.started
        self.retried += noted.retried
        self.lost += noted.lost
        self.running += noted.running
        if noted.ended:
            state = State(noted.state)
            self.ended[state] = self.ended.get(state, 0) + noted.ended
        if noted.wait is not None:
            late = min(max(noted.wait, timedelta(0)), LONGEST_WAIT)
            self.waited = _sum(self.waited, late)
            self.waits[bisect_left(WAIT_BUCKETS, late)] += 1

    def plus(self, other: "Totals") -> "Totals":
        """Both together."""
        states = sorted({*self.ended, *other.ended})
        return Totals(
            added=self.added + other.added,
            started=self.started + other.started,
            retried=self.retried + other.retried,
            lost=self.lost + other.lost,
            running=self.running + other.running,
            waited=_sum(self.waited, other.waited),
            ended={state: self.ended.get(state, 0) + other.ended.get(state, 0) for state in states},
            waits=[mine + theirs for mine, theirs in zip(self.waits, other.waits, strict=True)],
        )

    def to_json(self) -> str:
        """The text that stores keep."""
        return json.dumps(
            {
                "added": self.added,
                "started": self.started,
                "retried": self.retried,
                "lost": self.lost,
                "running": self.running,
                "waited": self.waited // timedelta(microseconds=1),
                "ended": {state.value: count for state, count in self.ended.items()},
                "waits": self.waits,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Totals":
        """Read back what `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        fields["waited"] = timedelta(microseconds=fields["waited"])
        fields["ended"] = {State(int(state)): count for state, count in fields["ended"].items()}
        return cls(**fields)


def _sum(one: timedelta, other: timedelta) -> timedelta:
    """Both together, as far as figures go: counting never fails."""
    return MOST_WAITED if one > MOST_WAITED - min(other, MOST_WAITED) else one + other


@dataclass(slots=True)
class _Page:
    """What a process has done of one group since *begun*."""

    id: UUID
    begun: datetime
    totals: Totals = field(default_factory=Totals)


class Ledger:
    """What this process has done since it began."""

    def __init__(self, rows: Rows, clock: Clock, process: UUID) -> None:
        self._rows = rows
        self._clock = clock
        self._process = process
        self._begun = 0
        self._last = 0
        self._pages: dict[Group, _Page] = {}
        self._unwritten: list[Sequence[Noted]] = []
        self._writing: asyncio.Future[None] | None = None

    async def note(self, happened: Sequence[Noted]) -> None:
        """Write down what happened, of which the truth is stored already; StoreUnavailable if that isn't possible."""
        if happened:
            await self._write([happened])

    def note_soon(self, happened: Sequence[Noted]) -> None:
        """Have it written down, and don't be told if that isn't possible."""
        if not happened:
            return
        self._unwritten.append(happened)
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write_on())

    async def written(self) -> None:
        """Return when all that happened so far is written down, as far as that is possible."""
        while self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write_on(self) -> None:
        try:
            while self._unwritten:
                noted, self._unwritten = self._unwritten, []
                with suppress(StoreUnavailable):
                    await self._write(noted)
        finally:
            self._writing = None

    async def _write(self, noted: Sequence[Sequence[Noted]]) -> None:
        """What happened at some times, each after the one before."""
        now = self._clock.now()
        entries: list[Put] = []
        pages: dict[Group, _Page] = {}
        for happened in noted:
            # A row of the log holds entries of many runs: writing to its key a second time would take them away.
            self._last = at = max(self._last + 1, micros(now))
            told = [_change(each, at) for each in happened if each.told]
            entries += [Put(table=CHANGE, row=row) for row in together(told)]
            for each in happened:
                if not each.standing:
                    group = each.owner, each.lane, each.kind
                    if group not in pages:
                        pages[group] = self._page(group, now)
                    pages[group].totals.take(each)
        await self._rows.put(entries + [_tally(group, page, self._last) for group, page in pages.items()])

    def _page(self, group: Group, now: datetime) -> _Page:
        page = self._pages.get(group)
        if page is None or now - page.begun > PAGE_LASTS:
            page = self._pages[group] = _Page(UUID(int=(self._process.int + self._begun) % _IDS), now)
            self._begun += 1
        return page


def _tally(group: Group, page: _Page, at: int) -> Put:
    owner, lane, kind = group
    return Put(
        table=TALLY,
        row={
            "part": tally_part(owner),
            "process": page.id,
            "owner": owner,
            "lane": lane,
            "kind": int(kind),
            "figures": page.totals.to_json(),
            "at": at,
        },
    )


def tally_part(owner: str) -> int:
    """The partition of an owner's pages."""
    return zlib.crc32(owner.encode()) % TALLY_PARTS


def part_of(identity: UUID) -> int:
    """The partition of a minute's changes for a row that begins with *identity*."""
    return identity.int % PARTS


def _change(noted: Noted, at: int) -> Row:
    return {
        "slot": slot_of(at),
        "part": part_of(noted.id),
        "at": at,
        "id": noted.id,
        "fence": noted.fence,
        "standing": noted.standing,
        "owner": noted.owner,
        "job_id": noted.job_id,
        "state": noted.state,
    }
