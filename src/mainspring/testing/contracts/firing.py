"""Firing moments: each once, never early, never after a pause."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mainspring.domain.ids import RunId, Version, fired_run_id
from mainspring.domain.job import Job, JobState
from mainspring.domain.outcome import Succeeded
from mainspring.domain.plan import Advance, Skip, SkipReason
from mainspring.domain.run import NewRun, State
from mainspring.errors import VersionConflict
from mainspring.ports.views import Cursor, RunFilter
from mainspring.ports.work import Cancel
from mainspring.testing.contracts.base import (
    FAR,
    Store,
    StoreContract,
    a_worker,
    claimed,
    claimed_one,
    job_of,
    past,
    seen,
    settled,
    state_of,
)
from mainspring.testing.factories import Factory, a_task

PERIOD = timedelta(minutes=5)


def advance(job: Job, *skips: Skip, makes_run: bool = True) -> Advance:
    """Fire the job's next moment and plan the one after."""
    assert job.next_fire_at is not None
    moment = job.next_fire_at
    run = NewRun(id=fired_run_id(job.id, moment), job_id=job.id, task=job.task, due=moment, owner=job.owner)
    return Advance(
        job_id=job.id,
        expected_version=job.version,
        expected_fire_at=moment,
        expected_active=job.active_run,
        next_fire_at=moment + PERIOD,
        wake_at=moment + PERIOD,
        active_run=run.id if makes_run else job.active_run,
        runs=(run,) if makes_run else (),
        skips=skips,
    )


async def standing(store: Store, make: Factory, fires_at: datetime | None = None, **fields: Any) -> Job:
    """A stored job; its moment came an hour ago unless *fires_at* is given."""
    new = make.new_job(fires_at=fires_at or await past(store, 3600), **fields)
    await store.work.add([new])
    return new.job


async def fired(store: Store, job: Job) -> RunId:
    """Fire the job's next moment; the id of its run."""
    step = advance(job)
    assert list(await store.timetable.fire([step])) == [True]
    return step.runs[0].id


async def paused(store: Store, job: Job) -> bool:
    """Pause what was read as *job*; False if it has changed since."""
    try:
        await store.timetable.save(replace(job, state=JobState.PAUSED), job)
    except VersionConflict:
        return False
    return True


async def runs_of(store: Store, job: Job) -> list[RunId]:
    """The ids of the job's runs, skipped ranges included."""
    return [run.id for run in (await store.views.runs(RunFilter(job_id=job.id), Cursor(limit=1000))).items]


class FiringContract(StoreContract):
    """`Timetable.fire`."""

    async def test_an_advance_makes_its_runs_and_moves_the_job(self, store: Store, make: Factory) -> None:
        job = await standing(store, make, task=a_task(handler="h", payload=b"[1]"), owner="o")
        run_id = await fired(store, job)
        run = await seen(store, run_id)
        assert (run.state, run.job_id, run.task, run.owner) == (State.WAITING, job.id, job.task, "o")
        assert (run.due_at, run.wake_at) == (job.next_fire_at, job.next_fire_at)
        after = await job_of(store, job.id)
        assert job.next_fire_at is not None
        assert (after.next_fire_at, after.wake_at) == (job.next_fire_at + PERIOD,) * 2
        assert after.active_run == run_id
        assert after.version == job.version

    async def test_an_advance_is_applied_once(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        step = advance(job)
        assert list(await store.timetable.fire([step])) == [True]
        before = await job_of(store, job.id)
        assert list(await store.timetable.fire([step])) == [False]
        assert list(await store.timetable.fire([step, step])) == [False, False]
        assert await job_of(store, job.id) == before
        assert await runs_of(store, job) == [step.runs[0].id]

    async def test_one_job_twice_in_a_batch_advances_once(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        assert sorted(await store.timetable.fire([advance(job), advance(job)])) == [False, True]

    async def test_another_version_moment_or_active_run_is_refused(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        step = advance(job)
        mistaken = [
            replace(step, expected_version=Version(job.version + 1)),
            replace(step, expected_fire_at=step.expected_fire_at - PERIOD),
            replace(step, expected_active=RunId(make.id())),
            replace(step, job_id=make.id()),
        ]
        for wrong in mistaken:
            assert list(await store.timetable.fire([wrong])) == [False]
        assert await job_of(store, job.id) == job
        assert not await runs_of(store, job)

    async def test_an_active_run_that_was_expected_is_compared(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        await fired(store, job)
        moved = await job_of(store, job.id)
        assert list(await store.timetable.fire([replace(advance(moved), expected_active=None)])) == [False]
        assert list(await store.timetable.fire([advance(moved)])) == [True]

    async def test_a_stale_advance_does_not_hinder_the_others(self, store: Store, make: Factory) -> None:
        jobs = [await standing(store, make) for _ in range(3)]
        await fired(store, jobs[1])
        assert list(await store.timetable.fire([advance(job) for job in jobs])) == [True, False, True]
        assert [len(await runs_of(store, job)) for job in jobs] == [1, 1, 1]
        assert list(await store.timetable.fire([])) == []

    async def test_a_moment_that_has_not_come_by_the_stores_clock_is_refused(self, store: Store, make: Factory) -> None:
        job = await standing(store, make, fires_at=await past(store, -3600))
        assert list(await store.timetable.fire([advance(job)])) == [False]
        assert await job_of(store, job.id) == job
        assert not await runs_of(store, job)

    async def test_skipped_moments_are_one_row(self, store: Store, make: Factory) -> None:
        job = await standing(store, make, owner="o")
        assert job.next_fire_at is not None
        first, last = job.next_fire_at, job.next_fire_at + 7 * PERIOD
        skip = Skip(job_id=job.id, first=first, last=last, count=8, reason=SkipReason.MISFIRE)
        assert list(await store.timetable.fire([advance(job, skip, makes_run=False)])) == [True]
        (run_id,) = await runs_of(store, job)
        assert run_id == fired_run_id(job.id, first)
        run = await seen(store, run_id)
        assert (run.state, run.reason, run.owner, run.job_id) == (State.SKIPPED, "misfire", "o", job.id)
        assert (run.due_at, run.skipped_to, run.skipped_count) == (first, last, 8)
        assert run.finished_at is not None
        assert not await claimed(store, await a_worker(store))

    async def test_skips_that_nobody_counted_are_kept_without_a_count(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        moment = await past(store, 7200)
        skip = Skip(job_id=job.id, first=moment, last=moment + PERIOD, count=None, reason=SkipReason.OVERLAP)
        step = advance(job, skip)
        assert list(await store.timetable.fire([step])) == [True]
        assert set(await runs_of(store, job)) == {step.runs[0].id, fired_run_id(job.id, moment)}
        assert (await seen(store, fired_run_id(job.id, moment))).skipped_count is None

    async def test_several_runs_of_one_advance_are_all_made(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        step = advance(job)
        moments = [step.expected_fire_at + number * PERIOD for number in range(5)]
        runs = tuple(replace(step.runs[0], id=fired_run_id(job.id, moment), due=moment) for moment in moments)
        assert list(await store.timetable.fire([replace(step, runs=runs, active_run=runs[-1].id)])) == [True]
        assert sorted(await runs_of(store, job)) == sorted(run.id for run in runs)

    async def test_looking_again_moves_the_wake_time_only(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        before = await past(store, 0)
        step = replace(
            advance(job, makes_run=False), next_fire_at=job.next_fire_at, wake_at=job.wake_at, look_again=FAR
        )
        assert list(await store.timetable.fire([step])) == [True]
        after = await job_of(store, job.id)
        assert after.wake_at is not None
        assert after.wake_at >= before + FAR
        assert replace(after, wake_at=job.wake_at) == job
        assert not (await store.timetable.due(10)).jobs
        assert not await runs_of(store, job)

    async def test_an_active_run_that_waits_is_cancelled_where_it_is_replaced(
        self, store: Store, make: Factory
    ) -> None:
        job = await standing(store, make)
        replaced = await fired(store, job)
        fence = (await seen(store, replaced)).fence
        moved = await job_of(store, job.id)
        assert list(await store.timetable.fire([replace(advance(moved), cancel=replaced)])) == [True]
        run = await seen(store, replaced)
        assert run.state is State.CANCELLED
        assert run.fence > fence
        assert (await claimed_one(store, await a_worker(store))).run_id != replaced

    async def test_an_active_run_that_runs_is_flagged_where_it_is_replaced(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        replaced = await fired(store, job)
        attempt = await claimed_one(store, await a_worker(store))
        moved = await job_of(store, job.id)
        step = replace(advance(moved, makes_run=False), next_fire_at=moved.next_fire_at, look_again=FAR)
        assert list(await store.timetable.fire([replace(step, cancel=replaced)])) == [True]
        run = await seen(store, replaced)
        assert (run.state, run.cancelling, run.fence) == (State.RUNNING, True, attempt.fence)

    async def test_an_active_run_that_has_ended_is_left_alone(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        replaced = await fired(store, job)
        await settled(store, await claimed_one(store, await a_worker(store)), Succeeded())
        before = await seen(store, replaced)
        moved = await job_of(store, job.id)
        assert list(await store.timetable.fire([replace(advance(moved), cancel=replaced)])) == [True]
        assert await seen(store, replaced) == before

    async def test_a_refused_advance_cancels_nothing(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        replaced = await fired(store, job)
        assert list(await store.timetable.fire([replace(advance(job), cancel=replaced)])) == [False]
        assert await state_of(store, replaced) is State.WAITING

    async def test_after_a_pause_nothing_older_fires(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        step = advance(job)
        await store.timetable.save(replace(job, state=JobState.PAUSED), job)
        current = replace(step, expected_version=Version(job.version + 1))
        assert list(await store.timetable.fire([step, current])) == [False, False]
        assert not await runs_of(store, job)

    async def test_a_moment_that_has_run_never_runs_again_even_if_an_edit_puts_the_timetable_back(
        self, store: Store, make: Factory
    ) -> None:
        job, worker = await standing(store, make), await a_worker(store)
        run_id = await fired(store, job)
        await settled(store, await claimed_one(store, worker), Succeeded(result=b"1"))
        moved = await job_of(store, job.id)
        back = replace(moved, next_fire_at=job.next_fire_at, wake_at=job.wake_at)
        saved = await store.timetable.save(back, moved)
        assert list(await store.timetable.fire([advance(saved)])) == [True]
        assert await runs_of(store, job) == [run_id]
        assert (await seen(store, run_id)).result == b"1"
        assert not await claimed(store, worker)

    async def test_planners_that_fire_the_same_advances_at_once_make_each_moment_once(
        self, store: Store, second_store: Store, make: Factory
    ) -> None:
        jobs = [await standing(store, make) for _ in range(20)]
        steps = [advance(job) for job in jobs]
        answers = await asyncio.gather(
            store.timetable.fire(steps),
            second_store.timetable.fire(steps[::-1]),
            store.timetable.fire(steps[10:] + steps[:10]),
            second_store.timetable.fire(steps),
        )
        assert sum(map(sum, answers)) == len(jobs)
        assert [await runs_of(store, job) for job in jobs] == [[step.runs[0].id] for step in steps]

    async def test_a_pause_and_a_fire_at_once_happen_one_after_the_other(
        self, store: Store, second_store: Store, make: Factory
    ) -> None:
        for _ in range(10):
            job = await standing(store, make)
            (fire_won,), pause_won = await asyncio.gather(
                second_store.timetable.fire([advance(job)]), paused(store, job)
            )
            assert fire_won is not pause_won
            if fire_won:
                assert await paused(store, await job_of(store, job.id))
            made = await runs_of(store, job)
            assert list(await store.timetable.fire([advance(await job_of(store, job.id))])) == [False]
            assert await runs_of(store, job) == made

    async def test_of_concurrent_edits_one_wins(self, store: Store, second_store: Store, make: Factory) -> None:
        job = await standing(store, make)
        answers = await asyncio.gather(
            *(
                handle.timetable.save(replace(job, name=f"name-{number}"), job)
                for number, handle in enumerate([store, second_store] * 3)
            ),
            return_exceptions=True,
        )
        saved = [answer for answer in answers if isinstance(answer, Job)]
        assert len(saved) == 1
        assert all(isinstance(answer, VersionConflict) for answer in answers if not isinstance(answer, Job))
        assert (await job_of(store, job.id)).name == saved[0].name

    async def test_the_run_of_a_trigger_is_no_active_run(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        triggered = make.run(job_id=job.id)
        await store.work.add([triggered])
        assert (await job_of(store, job.id)).active_run is None
        await store.work.steer(triggered.id, Cancel())
        assert list(await store.timetable.fire([advance(job)])) == [True]
