"""A cluster at its weakest: what was acknowledged holds, and whatever else may happen does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from mainspring.adapters.cassandra.rows import Change, Put, UnknownOutcome, only
from mainspring.adapters.cassandra.table import Kind, Table
from mainspring.errors import StoreUnavailable
from mainspring.testing.clock import ManualClock
from mainspring.testing.rows.cluster import Cluster
from mainspring.testing.rows.weak import Request, Unheard, WeakRows

TABLE = Table(
    name="thing",
    comment="For these tests.",
    partition={"part": Kind.INT},
    clustering={"id": Kind.INT},
    columns={"colour": Kind.TEXT, "fence": Kind.INT},
    conditional=frozenset({"fence"}),
)
INDEX = Table(
    name="index", comment="For these tests.", partition={"part": Kind.INT}, clustering={"id": Kind.INT}, columns={}
)
SEEN, UNSEEN = 0.0, 0.9
NOW, DECIDED, OPEN = 0.0, 0.5, 0.9
"""What becomes of a conditional batch that nobody hears of: third by third of all luck."""
COMPLETED, RULED_OUT = 0.0, 0.9


@dataclass
class Luck:
    """Says what it was told to, then always that nothing is seen."""

    draws: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.draws.pop(0) if self.draws else UNSEEN


@dataclass
class Line:
    """Carries requests at once; whether they arrive, when, and whether they are answered is for the test to say."""

    heard: bool = True
    lost: bool = False
    late: bool = False
    held_up: list[Callable[[], Any]] = field(default_factory=list)
    afterwards: list[Callable[[], None]] = field(default_factory=list)

    async def carry(self, requests: Sequence[Request]) -> Sequence[Any]:
        answers = []
        for request in requests:
            if self.late:
                self.held_up.append(partial(request.carry_out, False))
            elif not self.lost:
                answers.append(request.carry_out(self.heard))
        if self.lost or self.late or not self.heard:
            raise Unheard("no answer")
        return answers

    def later(self, callback: Callable[[], None]) -> None:
        self.afterwards.append(callback)

    def now(self) -> int:
        return 5_000_000


class Site:
    """A cluster with one client, and a second one whose clock is a minute behind."""

    def __init__(self) -> None:
        self.luck, self.line, self.clock = Luck(), Line(), ManualClock()
        self.cluster = Cluster(self.luck)
        self.rows = WeakRows(self.cluster, self.line, self.clock)
        slow = ManualClock(self.clock.now() - timedelta(minutes=1))
        self.slow_rows = WeakRows(self.cluster, Line(), slow)

    async def colour(self, *, settled: bool = False) -> object:
        found = await self.rows.get(TABLE, (1,), [(1,)], settled=settled)
        return found[0]["colour"] if found else None

    async def fence(self, *, settled: bool = False) -> object:
        found = await self.rows.get(TABLE, (1,), [(1,)], settled=settled)
        return found[0]["fence"] if found else None

    async def unheard(self, doing: Any, *luck: float) -> None:
        self.luck.draws[:] = luck
        self.line.heard = False
        with pytest.raises(StoreUnavailable):
            await doing
        self.line.heard = True
        assert not self.luck.draws, "a test that gives more luck than is used tests something else"


@pytest.fixture
async def site() -> Site:
    site = Site()
    await site.rows.put([Put(table=TABLE, row={"part": 1, "id": 1, "fence": 0}, original=True)])
    return site


def put(colour: str) -> Put:
    return Put(table=TABLE, row={"part": 1, "id": 1, "colour": colour})


def take(fence: int) -> list[Change]:
    return [Change(key=(1,), values={"fence": fence + 1}, expected={"fence": fence})]


async def test_what_was_acknowledged_is_seen_whatever_the_luck(site: Site) -> None:
    await site.rows.put([put("red")])
    assert await site.rows.cas_batch(TABLE, (1,), take(0)) is None
    assert [await site.colour(), await site.fence()] == ["red", 1]


async def test_a_plain_write_without_an_answer_is_seen_by_one_read_and_not_by_the_next(site: Site) -> None:
    await site.unheard(site.rows.put([put("red")]), UNSEEN)
    site.luck.draws[:] = [SEEN, UNSEEN, SEEN]
    assert [await site.colour() for _ in range(3)] == ["red", None, "red"]


async def test_a_plain_write_that_lands_late_has_the_time_at_which_it_was_sent(site: Site) -> None:
    site.line.late = True
    with pytest.raises(StoreUnavailable):
        await site.rows.put([put("red")])
    site.line.late = False
    site.clock.advance(timedelta(seconds=1))
    await site.rows.put([put("green")])
    site.line.held_up[0]()
    assert await site.colour() == "green"


async def test_a_hazy_write_may_reach_everybody_in_the_end(site: Site) -> None:
    await site.unheard(site.rows.put([put("red")]), UNSEEN)
    site.line.afterwards[0]()
    assert await site.colour() == "red"


async def test_a_request_that_is_lost_changes_nothing(site: Site) -> None:
    site.line.lost = True
    with pytest.raises(StoreUnavailable):
        await site.rows.put([put("red")])
    with pytest.raises(UnknownOutcome):
        await site.rows.cas_batch(TABLE, (1,), take(0))
    site.line.lost = False
    assert [await site.colour(), await site.fence(settled=True)] == [None, 0]


async def test_the_rows_of_one_put_have_fates_of_their_own(site: Site) -> None:
    site.luck.draws[:] = [SEEN, UNSEEN]
    site.line.heard = False
    entries = [Put(table=INDEX, row={"part": part, "id": 1}) for part in (1, 2)]
    with pytest.raises(StoreUnavailable):
        await site.rows.put(entries)
    site.line.heard = True
    assert [len(await site.rows.slice(INDEX, (part,), limit=9)) for part in (1, 2)] == [1, 0]


async def test_clocks_decide_between_plain_writes_and_not_their_order(site: Site) -> None:
    await site.rows.put([put("red")])
    await site.slow_rows.put([put("green")])
    assert await site.colour() == "red"


async def test_a_slow_clock_deletes_nothing_that_a_fast_one_wrote(site: Site) -> None:
    entry = Put(table=INDEX, row={"part": 1, "id": 1})
    await site.rows.put([entry])
    await site.slow_rows.delete_range(INDEX, (1,), only((1,)))
    assert len(await site.rows.slice(INDEX, (1,), limit=9)) == 1
    await site.rows.delete_range(INDEX, (1,), only((1,)))
    await site.slow_rows.put([entry])
    assert not await site.rows.slice(INDEX, (1,), limit=9)


async def test_an_original_that_comes_again_changes_nothing_that_was_decided(site: Site) -> None:
    await site.rows.cas_batch(TABLE, (1,), take(0))
    await site.rows.put([Put(table=TABLE, row={"part": 1, "id": 1, "fence": 0}, original=True)])
    assert await site.fence() == 1


async def test_a_conditional_batch_without_an_answer_may_be_known_everywhere(site: Site) -> None:
    await site.unheard(site.rows.cas_batch(TABLE, (1,), take(0)), NOW)
    assert await site.fence() == 1


async def test_one_that_is_decided_may_be_missed_by_plain_reads_and_never_by_a_settled_one(site: Site) -> None:
    await site.unheard(site.rows.cas_batch(TABLE, (1,), take(0)), DECIDED)
    site.luck.draws[:] = [UNSEEN, SEEN, UNSEEN]
    assert [await site.fence() for _ in range(3)] == [0, 1, 0]
    assert await site.fence(settled=True) == 1
    assert await site.fence() == 1


async def test_one_that_is_left_open_is_seen_by_nobody_until_a_settled_read_completes_it(site: Site) -> None:
    await site.unheard(site.rows.cas_batch(TABLE, (1,), take(0)), OPEN)
    site.luck.draws[:] = [SEEN]
    assert await site.fence() == 0
    site.luck.draws[:] = [COMPLETED]
    assert await site.fence(settled=True) == 1
    assert await site.fence() == 1


async def test_a_settled_read_that_rules_an_open_batch_out_does_so_for_ever(site: Site) -> None:
    await site.unheard(site.rows.cas_batch(TABLE, (1,), take(0)), OPEN)
    site.luck.draws[:] = [RULED_OUT]
    assert await site.fence(settled=True) == 0
    site.line.afterwards[0]()
    assert await site.fence(settled=True) == 0


async def test_an_open_batch_may_complete_by_itself(site: Site) -> None:
    await site.unheard(site.rows.cas_batch(TABLE, (1,), take(0)), OPEN)
    site.line.afterwards[0]()
    assert await site.fence() == 1


async def test_the_next_conditional_batch_completes_an_open_one_and_is_then_compared(site: Site) -> None:
    await site.unheard(site.rows.cas_batch(TABLE, (1,), take(0)), OPEN)
    site.luck.draws[:] = [COMPLETED]
    refused = await site.slow_rows.cas_batch(TABLE, (1,), take(0))
    assert refused is not None
    assert refused[0]["fence"] == 1


async def test_ballots_grow_within_a_partition_whatever_the_coordinators_clocks_say(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.rows.cas_batch(TABLE, (1,), take(0))
    monkeypatch.setattr(Line, "now", lambda _: 4)
    assert await site.rows.cas_batch(TABLE, (1,), take(1)) is None
    assert await site.fence() == 2


async def test_a_batch_is_refused_as_a_whole(site: Site) -> None:
    changes = [*take(0), Change(key=(2,), values={"fence": 9}, expected={"fence": 8})]
    assert await site.rows.cas_batch(TABLE, (1,), changes) is not None
    assert await site.fence(settled=True) == 0


async def test_what_a_condition_was_compared_with_does_not_go_away_again(site: Site) -> None:
    original = Put(table=TABLE, row={"part": 1, "id": 2, "fence": 0}, original=True)
    await site.unheard(site.rows.put([original]), UNSEEN)
    site.luck.draws[:] = [SEEN]
    change = Change(key=(2,), values={"colour": "red"}, expected={"fence": 0})
    assert await site.rows.cas_batch(TABLE, (1,), [change]) is None
    [row] = await site.rows.get(TABLE, (1,), [(2,)])
    assert (row["fence"], row["colour"]) == (0, "red")
