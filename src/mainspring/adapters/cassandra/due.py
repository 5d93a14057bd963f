"""The due index: its entries and where they lead, and the minutes of a lane that are open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import SHARDS, TRAIL, slot_start, span_of
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.rows import Key, Row, Span
from mainspring.adapters.cassandra.tables import DUE_SLOT
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import Lane
from mainspring.domain.run import State

MOST_MINUTES = 512
"""Open minutes of a lane that are looked at, over all shards, the oldest first."""
_AT_FIRST = 3 * SHARDS
"""Those that are read at first: whatever waits for later minutes costs a claim nothing."""
_AT_A_GLANCE = 8
"""Those that are read where nothing was ready a moment ago."""

Mark = tuple[int, int, int]
"""A key in numbers: to look up one with an id in it takes five times as long."""


@dataclass(slots=True, unsafe_hash=True)
class Entry:
    """A waiting run as the index knows it. Nobody changes one; it isn't frozen because claims make so many."""

    lane: Lane
    shard: int
    wake_at: int
    id: UUID
    fence: int
    priority: int
    since: int
    ticketed: bool = False
    """Whether it is where a run is found when the grace of its ticket has ended."""
    copy: bytes | None = field(default=None, compare=False)
    """What the run was when it was new, if its entry says so (see `copies`)."""
    mark: Mark = field(init=False, compare=False)
    """What it is remembered by."""
    rank: tuple[int, int, int] = field(init=False, compare=False)
    """The better, the less: by priority, then by how long it has waited."""

    def __post_init__(self) -> None:
        number = self.id.int
        self.mark = self.wake_at, number, self.fence
        self.rank = -self.priority, self.since, number

    @property
    def key(self) -> Key:
        """Its place on the shelf."""
        return self.wake_at, self.id, self.fence


class Lead(Enum):
    """Where an entry leads, by what its run's row says."""

    READY = auto()
    """To a run that waits and may be handed over."""
    AHEAD = auto()
    """To what is about to be: entries are written before the truth."""
    NOWHERE = auto()
    """To what has been: the run has moved on under a greater fence, or has ended."""


def lead(entry: Entry, row: Row | None, now: int) -> Lead:
    """Where *entry* leads. What has been never comes back: that may be concluded from a row that is out of date."""
    if row is None or number(row, "fence") < entry.fence:
        return Lead.AHEAD if now - entry.wake_at < span_of(TRAIL) else Lead.NOWHERE
    if number(row, "fence") > entry.fence or state_of(row).terminal:
        return Lead.NOWHERE
    if state_of(row) is State.RUNNING:
        # A loss leaves the fence alone: this one is being put back.
        return Lead.AHEAD if now - entry.wake_at < span_of(TRAIL) else Lead.NOWHERE
    # Under the same fence, what was listed again is found there: a run whose ticket is out, when its grace has ended.
    return Lead.NOWHERE if number(row, "indexed_at") > entry.wake_at else Lead.READY


@dataclass(frozen=True, slots=True)
class Minutes:
    """The minutes of a lane that are open, by shard, each in order; those of the far future may be left out."""

    by_shard: Mapping[int, Sequence[int]]
    cut_at: int | None = None
    """The first minute of which some shards may be left out; None if there is nothing after these."""
    glimpsed: int | None = None
    """Of a glance, which hardly sees beyond what is open up to now: the first minute that it saw."""

    @property
    def known_until(self) -> int | None:
        """The instant before which nothing is left out."""
        return None if self.cut_at is None else slot_start(self.cut_at)

    def until(self, shard: int, minute: int) -> Sequence[int]:
        """Those of one shard up to *minute*."""
        return [each for each in self.by_shard.get(shard, ()) if each <= minute]

    def ready(self, minute: int) -> Sequence[int]:
        """The shards that have any up to *minute*."""
        return [shard for shard in self.by_shard if self.until(shard, minute)]

    def since(self, minute: int) -> Mapping[int, Sequence[int]]:
        """From *minute* on, the shards of each, the earliest first."""
        shards: dict[int, list[int]] = {}
        for shard, minutes in self.by_shard.items():
            for each in minutes:
                if each >= minute:
                    shards.setdefault(each, []).append(shard)
        return dict(sorted(shards.items()))


async def open_minutes(context: Context, lane: Lane, here: int) -> Minutes:
    """The minutes up to *here*, and at least the first one after it.

    One read for all shards: this is all that a claim costs while nothing waits. A backlog of many minutes takes two.
    """
    found = await _first(context, lane, _AT_FIRST)
    cut = len(found) == _AT_FIRST
    if cut and not any(here < minute < found[-1][0] for minute, _ in found):
        rest = await context.rows.slice(DUE_SLOT, (lane,), Span(after=found[-1]), limit=MOST_MINUTES - _AT_FIRST)
        found += map(_open, rest)
        cut = len(found) == MOST_MINUTES
    return _minutes(found, here, cut=cut)


async def glance(context: Context, lane: Lane, here: int) -> Minutes:
    """The minutes up to *here*, and of those after it as good as nothing: enough for whoever knows what comes next.

    Reads less than `open_minutes` where few are open up to *here*, and more where there are many.
    """
    found = await _first(context, lane, _AT_A_GLANCE)
    if len(found) < _AT_A_GLANCE:
        return _minutes(found, here, cut=False)
    if found[-1][0] <= here:
        return await open_minutes(context, lane, here)
    return replace(_minutes(found, here, cut=True), glimpsed=found[0][0])


async def _first(context: Context, lane: Lane, most: int) -> list[tuple[int, int]]:
    return [_open(row) for row in await context.rows.slice(DUE_SLOT, (lane,), limit=most)]


def _minutes(found: Sequence[tuple[int, int]], here: int, *, cut: bool) -> Minutes:
    cut_at = found[-1][0] if cut else None
    by_shard: dict[int, list[int]] = {}
    for minute, shard in found:
        if minute <= here or minute != cut_at:  # whoever waits for a later one must know all its shards
            by_shard.setdefault(shard, []).append(minute)
    return Minutes(by_shard, cut_at)


def _open(row: Row) -> tuple[int, int]:
    return number(row, "slot"), number(row, "shard")
