"""How many runs of one owner the API lets wait or run, decided without a server."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.api.quota import Quota, QuotaExceeded
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Succeeded
from mainspring.domain.run import NewRun
from mainspring.errors import StoreUnavailable
from mainspring.ports.views import Figures
from mainspring.ports.work import Added, Addition
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts.base import a_worker, claimed_one, settled
from mainspring.testing.factories import Factory, a_key
from mainspring.testing.model import MemoryStore
from mainspring.testing.model.views import MemoryViews


class Bench:
    """A store, and a quota of three before it."""

    def __init__(self, most: int = 3) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.make = Factory()
        self.quota = Quota(most, self.store.views, self.clock)

    async def add(self, *items: NewRun | NewJob) -> list[Addition]:
        """What becomes of *items* that pass."""
        return [added.kind for added in await self.quota.adding(items, lambda: self.store.work.add(items))]

    def runs(self, count: int, owner: str = "ann") -> Sequence[NewRun]:
        return [self.make.run(owner=owner) for _ in range(count)]


async def test_what_is_added_is_counted_and_not_the_requests() -> None:
    bench = Bench()
    with pytest.raises(QuotaExceeded) as refused:
        await bench.add(*bench.runs(4))
    assert (refused.value.live, refused.value.quota, refused.value.asked) == (0, 3, 4)
    await bench.add(*bench.runs(2))
    with pytest.raises(QuotaExceeded, match="2 runs of this owner wait or run, of at most 3, and this asks for 2 more"):
        await bench.add(*bench.runs(2))
    await bench.add(*bench.runs(1))
    assert (await bench.store.views.figures()).tallies[0].live == 3


async def test_each_owner_in_a_batch_needs_room() -> None:
    bench = Bench()
    await bench.add(*bench.runs(3, "ann"))
    with pytest.raises(QuotaExceeded):
        await bench.add(*bench.runs(2, "ben"), *bench.runs(1, "ann"))
    await bench.add(*bench.runs(3, "ben"))


async def test_jobs_that_recur_are_no_runs() -> None:
    bench = Bench(most=1)
    await bench.add(*bench.runs(1))
    await bench.add(bench.make.new_job(owner="ann"), bench.make.new_job(owner="ann", schedule="on-demand"))


async def test_there_is_room_again_a_second_after_runs_ended() -> None:
    bench = Bench(most=1)
    await bench.add(*bench.runs(1))
    await settled(bench.store, await claimed_one(bench.store, await a_worker(bench.store)), Succeeded())
    with pytest.raises(QuotaExceeded):
        await bench.add(*bench.runs(1))
    bench.clock.advance(timedelta(seconds=1))
    await bench.add(*bench.runs(1))


@pytest.mark.parametrize("seconds_before", [0, 2])
async def test_of_many_at_once_no_more_pass_than_there_is_room_for(seconds_before: int) -> None:
    """Also when all of them come upon figures that are too old."""
    bench = Bench()
    await bench.add(*bench.runs(1))
    bench.clock.advance(timedelta(seconds=seconds_before))

    async def slowly() -> Sequence[Added]:
        [run] = bench.runs(1)
        for _ in range(5):
            await asyncio.sleep(0)
        return await bench.store.work.add([run])

    answers = await asyncio.gather(
        *(bench.quota.adding(bench.runs(1), slowly) for _ in range(10)), return_exceptions=True
    )
    assert sum(isinstance(answer, QuotaExceeded) for answer in answers) == 8
    assert (await bench.store.views.figures()).tallies[0].live == 3


async def test_what_is_stored_while_the_figures_are_read_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(most=1)
    began, go_on = asyncio.Event(), asyncio.Event()
    figures = MemoryViews.figures

    async def read_late(self: MemoryViews) -> Figures:
        seen = await figures(self)
        began.set()
        await go_on.wait()
        return seen

    storing, stored = asyncio.Event(), asyncio.Event()

    async def add() -> Sequence[Added]:
        storing.set()
        await stored.wait()
        return await bench.store.work.add(bench.runs(1))

    first = asyncio.create_task(bench.quota.adding(bench.runs(1), add))
    await storing.wait()
    bench.clock.advance(timedelta(seconds=1))
    monkeypatch.setattr(MemoryViews, "figures", read_late)
    second = asyncio.create_task(bench.add(*bench.runs(1)))
    await began.wait()
    stored.set()
    await first
    go_on.set()
    with pytest.raises(QuotaExceeded):
        await second


async def test_a_repeated_key_is_answered_however_full_it_is() -> None:
    bench = Bench(most=2)
    keyed = [bench.make.run(owner="ann", key=a_key(name)) for name in ("one", "two")]
    await bench.add(*keyed)
    assert await bench.add(*keyed) == [Addition.EXISTING] * 2
    assert await bench.add(bench.make.run(owner="ann", key=a_key("one", "other"))) == [Addition.CONFLICT]
    with pytest.raises(QuotaExceeded) as refused:
        await bench.add(*keyed, *bench.runs(1))
    assert refused.value.asked == 1
    with pytest.raises(QuotaExceeded):
        await bench.add(bench.make.run(owner="ann", key=a_key("three")))
    with pytest.raises(QuotaExceeded):
        await bench.add(bench.make.run(owner="ben", key=a_key("one")), *bench.runs(2, "ben"))


async def test_a_key_twice_in_a_batch_needs_room_once() -> None:
    bench = Bench(most=1)
    twice = [bench.make.run(owner="ann", key=a_key("one")) for _ in range(2)]
    assert await bench.add(*twice) == [Addition.CREATED, Addition.EXISTING]


async def test_what_added_nothing_leaves_its_room_to_others() -> None:
    bench = Bench(most=2)
    keyed = bench.make.run(owner="ann", key=a_key("one"))
    await bench.add(keyed)
    for _ in range(5):
        await bench.add(keyed)
    await bench.add(*bench.runs(1))


async def test_what_may_have_been_stored_is_counted_until_the_store_says_otherwise() -> None:
    bench = Bench(most=1)

    async def lost() -> Sequence[Added]:
        raise StoreUnavailable("no answer")

    with pytest.raises(StoreUnavailable):
        await bench.quota.adding(bench.runs(1), lost)
    with pytest.raises(QuotaExceeded):
        await bench.add(*bench.runs(1))
    bench.clock.advance(timedelta(seconds=1))
    await bench.add(*bench.runs(1))


async def test_figures_that_cannot_be_read_let_nothing_through(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(most=1)

    async def away(_: MemoryViews) -> Figures:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryViews, "figures", away)
        with pytest.raises(StoreUnavailable):
            await bench.add(*bench.runs(1))
    await bench.add(*bench.runs(1))


async def test_without_a_quota_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(most=0)
    monkeypatch.delattr(MemoryViews, "figures")
    assert await bench.add(*bench.runs(100)) == [Addition.CREATED] * 100
