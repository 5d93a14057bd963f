"""Figures of `Views`: exact, whatever happened, and equal to what the rows say."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.outcome import Cancelled, Failed, HandedBack, Lost, Outcome, Settled, Snoozed, Succeeded
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.run import Origin, State
from mainspring.ports.views import MOST_WAITED, WAIT_BUCKETS, Cursor, Figures, RunFilter, Tally
from mainspring.ports.work import Cancel, Edit, Hold, Order, Release
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import (
    FAR,
    LONGER,
    Extremes,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    claimed_one,
    held,
    job_of,
    past,
    settled,
    verdict,
)
from mainspring.testing.contracts.firing import advance, fired, standing
from mainspring.testing.factories import Factory, a_task

LANES = [Lane("left"), Lane("right")]
OWNERS = ["ann", "ben"]
NOTHING = timedelta(0)
LATEST = timedelta(days=1)
YEAR_1 = datetime.min.replace(tzinfo=UTC)


async def the_tally(store: Store) -> Tally:
    """The only tally there is."""
    (tally,) = (await store.views.figures()).tallies
    return tally


def totals(figures: Figures) -> Counter[str]:
    """All tallies in one."""
    sums: Counter[str] = Counter()
    for tally in figures.tallies:
        sums.update(added=tally.added, started=tally.started, lost=tally.lost, live=tally.live, waits=sum(tally.waits))
        sums.update({state.name: count for state, count in tally.ended.items()})
    return sums


async def agree_with_the_rows(store: Store) -> Figures:
    """The figures, once they were compared with every row."""
    figures = await store.views.figures()
    rows = (await store.views.runs(RunFilter(), Cursor(limit=10_000))).items
    states = Counter(run.state for run in rows)
    sums = totals(figures)
    assert figures.running == states[State.RUNNING]
    assert sums["live"] == states[State.WAITING] + states[State.RUNNING]
    assert sums["waits"] == sums["started"]
    for state in (State.SUCCEEDED, State.DEAD, State.CANCELLED):
        assert sums[state.name] == states[state], state
    live = Counter((run.owner, run.task.lane) for run in rows if not run.state.terminal)
    by_lane: Counter[tuple[str, Lane]] = Counter()
    for tally in figures.tallies:
        by_lane[tally.owner, tally.lane] += tally.live
    assert +by_lane == live
    for tally in figures.tallies:
        assert 0 <= tally.running <= tally.live
        assert timedelta(0) <= tally.waited <= tally.started * LATEST
    return figures


class FiguresContract(StoreContract):
    """`Views.figures`, and what `Upkeep.fold` must keep."""

    async def test_an_empty_store_has_nothing_to_tell(self, store: Store) -> None:
        figures = await store.views.figures()
        assert (totals(figures).total(), figures.running, figures.dead_letters) == (0, 0, 0)

    async def test_additions_are_told_apart_by_where_they_came_from(self, store: Store, make: Factory) -> None:
        await fired(store, await standing(store, make, owner="o"))
        await added(store, *make.runs(2, owner="o"), make.run(owner="o", due=FAR), make.run(owner="p"))
        found = {(tally.owner, tally.origin): tally.added for tally in (await store.views.figures()).tallies}
        assert found == {
            ("o", Origin.IMMEDIATE): 2,
            ("o", Origin.DELAYED): 1,
            ("o", Origin.RECURRING): 1,
            ("p", Origin.IMMEDIATE): 1,
        }

    async def test_a_repeated_add_is_not_counted_again(self, store: Store, make: Factory) -> None:
        new = make.run()
        for _ in range(3):
            await store.work.add([new])
        assert (await the_tally(store)).added == 1

    async def test_the_life_of_a_run_is_counted_step_by_step(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run(lane=LANES[0]))
        assert (await store.views.figures()).running == 1
        await settled(store, attempt, Failed(error="busy", retry_after=NOTHING))
        (attempt,) = await claimed(store, worker, lanes=LANES)
        await settled(store, attempt, Lost())
        (attempt,) = await claimed(store, worker, lanes=LANES)
        await settled(store, attempt, Failed(error="broken", permanent=True))
        tally = await the_tally(store)
        assert (tally.lane, tally.added, tally.started, tally.retried, tally.lost) == (LANES[0], 1, 3, 1, 1)
        assert (dict(tally.ended), tally.live) == ({State.DEAD: 1}, 0)
        figures = await store.views.figures()
        assert (figures.running, figures.dead_letters) == (0, 1)

    async def test_verdicts_that_were_refused_are_not_counted(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        await settled(store, attempt, Lost())
        await settled(store, attempt, Lost())
        current = await claimed_one(store, worker)
        await settled(store, attempt, Succeeded())
        await settled(store, current, Succeeded())
        await settled(store, current, Succeeded())
        tally = await the_tally(store)
        assert (tally.started, tally.lost, dict(tally.ended)) == (2, 1, {State.SUCCEEDED: 1})

    async def test_skipped_moments_are_counted_one_by_one_where_that_is_known(
        self, store: Store, make: Factory
    ) -> None:
        job = await standing(store, make, owner="o", task=a_task(lane=LANES[0]))
        moment = await past(store, 9000)
        ranges = [
            Skip(job_id=job.id, first=first, last=first, count=count, reason=SkipReason.MISFIRE)
            for first, count in ((moment, 42), (moment + timedelta(seconds=1), None))
        ]
        await store.timetable.fire([advance(job, *ranges, makes_run=False)])
        tally = await the_tally(store)
        assert (tally.owner, tally.lane, tally.origin) == ("o", LANES[0], Origin.RECURRING)
        assert (dict(tally.ended), tally.added, tally.live) == ({State.SKIPPED: 43}, 0, 0)

    async def test_starts_are_counted_by_how_late_they_were(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, make.run())
        await time.pass_(LONGER)
        await claimed_one(store, await a_worker(store))
        waits = list((await the_tally(store)).waits)
        assert (len(waits), sum(waits)) == (len(WAIT_BUCKETS) + 1, 1)
        assert WAIT_BUCKETS[waits.index(1)] >= LONGER

    async def test_waits_are_summed_up(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store)
        for _ in range(2):
            await added(store, make.run())
            await time.pass_(LONGER)
            await claimed_one(store, worker)
        assert 2 * LONGER <= (await the_tally(store)).waited <= LATEST

    async def test_runs_of_the_year_1_are_late_since_they_were_added(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(200, due=YEAR_1))
        attempts = [*await claimed(store, worker, 200)]
        while len(attempts) < 200:
            attempts += await claimed(store, worker, 200)
        assert {*await store.work.settle([verdict(each, Succeeded()) for each in attempts])} == {Settled.ACCEPTED}
        tally = await the_tally(store)
        assert (tally.started, dict(tally.ended)) == (200, {State.SUCCEEDED: 200})
        assert NOTHING <= tally.waited <= LATEST

    async def test_full_totals_fail_nothing(self, store: Store, make: Factory, extremes: Extremes) -> None:
        worker, job = await a_worker(store), await standing(store, make, owner="o")
        for _ in range(3):
            attempt = await held(store, worker, make.run(owner="o"))
            assert await settled(store, attempt, Failed(error="busy", retry_after=NOTHING)) is Settled.ACCEPTED
            assert await settled(store, await claimed_one(store, worker), Lost()) is Settled.ACCEPTED
            assert await settled(store, await claimed_one(store, worker), Succeeded()) is Settled.ACCEPTED
            moment = await past(store, 9000)
            skips = [
                Skip(job_id=job.id, first=at, last=at, count=2**63 - 1, reason=SkipReason.MISFIRE)
                for at in (moment, moment + timedelta(seconds=1))
            ]
            await store.timetable.fire([advance(job, *skips, makes_run=False)])
            job = await job_of(store, job.id)
            await extremes.fill_up()
            tallies = {tally.origin: tally for tally in (await store.views.figures()).tallies}
            told = tallies[Origin.IMMEDIATE]
            assert min(told.added, told.started, told.retried, told.lost, told.ended[State.SUCCEEDED]) >= 2**63 - 1
            assert told.waited == MOST_WAITED
            assert tallies[Origin.RECURRING].ended[State.SKIPPED] >= 2**63 - 1

    async def test_what_runs_is_told_apart_like_everything_else(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(2, owner="o", lane=LANES[0]), make.run(owner="p", lane=LANES[1]))
        job = await standing(store, make, owner="o", task=a_task(lane=LANES[1]))
        await fired(store, job)
        await settled(store, (await claimed(store, worker, 4, LANES))[0], HandedBack())
        found = Counter[tuple[str, Lane, Origin]]()
        for run in (await store.views.runs(RunFilter(states=frozenset({State.RUNNING})), Cursor())).items:
            found[run.owner, run.task.lane, Origin.RECURRING if run.job_id == job.id else Origin.IMMEDIATE] += 1
        figures = await store.views.figures()
        told = {(tally.owner, tally.lane, tally.origin): tally.running for tally in figures.tallies if tally.running}
        assert (told, figures.running) == (dict(found), 3)

    async def test_what_could_start_now_is_counted(self, store: Store, make: Factory) -> None:
        assert await store.views.due() == 0
        paused = make.run()
        ready = [
            make.run(owner=owner, task=a_task(lane=lane, priority=priority))
            for owner, lane, priority in zip("aab", (*LANES, LANES[0]), (10, 10, 20), strict=True)
        ]
        await added(store, *ready, paused, make.run(due=FAR, owner="a"))
        await store.work.steer(paused.id, Hold())
        assert [await store.views.due(owner) for owner in (None, "a", "b", "c")] == [3, 2, 1, 0]
        assert len(await claimed(store, await a_worker(store), lanes=[LANES[1]])) == 1
        assert await store.views.due() == 2

    async def test_a_run_that_moves_to_another_lane_is_counted_there(self, store: Store, make: Factory) -> None:
        new = make.run(lane=LANES[0])
        await added(store, new)
        await store.work.steer(new.id, Edit(task=a_task(lane=LANES[1])))
        live = {tally.lane: tally.live for tally in (await store.views.figures()).tallies}
        assert (live.get(LANES[0], 0), live[LANES[1]]) == (0, 1)

    @pytest.mark.parametrize("seed", range(3))
    async def test_figures_equal_the_rows_after_whatever_happened(self, store: Store, make: Factory, seed: int) -> None:
        chance = Random(seed)
        worker = await a_worker(store)
        for _ in range(40):
            await something(store, make, chance, worker)
        before = await agree_with_the_rows(store)
        while await store.upkeep.fold(7):
            pass
        after = await agree_with_the_rows(store)
        assert sorted(map(repr, after.tallies)) == sorted(map(repr, before.tallies))
        assert (after.running, after.dead_letters) == (before.running, before.dead_letters)
        for _ in range(10):
            await something(store, make, chance, worker)
        await agree_with_the_rows(store)


async def something(store: Store, make: Factory, chance: Random, worker: SessionId) -> None:
    """One random step in the life of a store."""
    step = chance.choice([_some_added, _some_settled, _some_settled, _one_steered, _one_fired])
    await step(store, make, chance, worker)


async def _some_added(store: Store, make: Factory, chance: Random, _worker: SessionId) -> None:
    runs = [
        make.run(lane=chance.choice(LANES), owner=chance.choice(OWNERS), due=chance.choice([NOTHING, FAR]))
        for _ in range(chance.randint(1, 5))
    ]
    await store.work.add([*runs, runs[0]])


async def _some_settled(store: Store, _make: Factory, chance: Random, worker: SessionId) -> None:
    attempts = await claimed(store, worker, chance.randint(1, 4), LANES)
    outcomes: list[Outcome] = [
        Succeeded(),
        Failed(error="busy", retry_after=NOTHING),
        Failed(error="broken", permanent=True),
        Lost(),
        HandedBack(),
        Snoozed(delay=FAR),
        Cancelled(),
    ]
    # Some stay in the worker's hands.
    verdicts = [verdict(attempt, chance.choice(outcomes)) for attempt in attempts if chance.random() < 0.9]
    await store.work.settle(verdicts)
    await store.work.settle(verdicts[:1])


async def _one_steered(store: Store, _make: Factory, chance: Random, _worker: SessionId) -> None:
    runs = (await store.views.runs(RunFilter(), Cursor(limit=1000))).items
    orders: list[Order] = [Cancel(), Hold(), Release(), Edit(task=a_task(lane=chance.choice(LANES)))]
    if runs:
        await store.work.steer(chance.choice(runs).id, chance.choice(orders))


async def _one_fired(store: Store, make: Factory, chance: Random, _worker: SessionId) -> None:
    task = a_task(lane=chance.choice(LANES))
    job = await standing(store, make, owner=chance.choice(OWNERS), task=task)
    moment = await past(store, 9000)
    skip = Skip(job_id=job.id, first=moment, last=moment, count=3, reason=SkipReason.MISFIRE)
    step = advance(job, *([skip] if chance.random() < 0.5 else []))
    await store.timetable.fire([step, step])
