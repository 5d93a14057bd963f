"""The `Timetable` port: which jobs are due, and what edits leave behind. Firing has a file of its own."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.adapters.memory.signals import Hub
from mainspring.domain.ids import Version, fired_run_id
from mainspring.domain.job import CatchUp, JobState, Misfire, Overlap, Terms
from mainspring.domain.outcome import Succeeded
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.run import State
from mainspring.errors import NotFound, VersionConflict
from mainspring.ports.views import Cursor, RunFilter
from mainspring.services.planner import Planner
from mainspring.testing.clock import ManualClock, Time
from mainspring.testing.contracts.base import (
    FAR,
    LONGER,
    SHORT,
    Store,
    a_worker,
    claimed_one,
    job_of,
    past,
    seen,
    settled,
)
from mainspring.testing.contracts.firing import PERIOD, FiringContract, fired, runs_of, standing
from mainspring.testing.factories import Factory, a_task


class _NoChance:
    """Nothing is left to chance."""

    def bits(self, count: int) -> int:  # noqa: ARG002
        return 0

    def uniform(self) -> float:
        return 0.0


class TimetableContract(FiringContract):
    """All that is asked of `Timetable`."""

    async def test_due_jobs_come_longest_waiting_first(self, store: Store, make: Factory) -> None:
        now = await past(store)
        jobs = [await standing(store, make, now - timedelta(seconds=seconds)) for seconds in (5, 50, 1, 20)]
        due = await store.timetable.due(10)
        assert [item.job for item in due.jobs] == [jobs[1], jobs[3], jobs[0], jobs[2]]
        assert [item.active for item in due.jobs] == [None] * 4

    async def test_due_says_the_shard_of_each_job(self, store: Store, make: Factory) -> None:
        jobs = {(await standing(store, make)).id for _ in range(3)}
        due = await store.timetable.due(10)
        assert {item.job.id for item in due.jobs} == jobs
        for item in due.jobs:
            of_its_shard = await store.timetable.due(10, frozenset({item.shard}))
            assert item.job.id in {each.job.id for each in of_its_shard.jobs}
            assert {each.shard for each in of_its_shard.jobs} == {item.shard}

    async def test_what_comes_while_a_planner_watches_runs_although_none_may_be_late(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        clock = ManualClock()
        watching, just_begun = (
            Planner(store.timetable, Hub().subscribe(), clock, _NoChance(), owns=lambda _: True, shards=16, poll=FAR)
            for _ in range(2)
        )
        strict = Terms(schedule="@every 5m", misfire=Misfire(grace=timedelta(0), policy=CatchUp.NONE))
        states = []
        for planner in (watching, just_begun):
            await watching.step()
            job = await standing(store, make, await past(store, 0) + SHORT, terms=strict)
            await time.pass_(LONGER)
            clock.advance(FAR)
            await planner.step()
            [run_id] = await runs_of(store, job)
            run = await seen(store, run_id)
            states.append((run.state, run.reason))
        assert states == [(State.WAITING, None), (State.SKIPPED, "misfire")]

    async def test_due_tells_the_stores_now(self, store: Store) -> None:
        before = await store.views.now()
        due = await store.timetable.due(1)
        assert before <= due.now <= await store.views.now()

    async def test_nothing_is_due_when_nothing_is_planned(self, store: Store, make: Factory) -> None:
        await store.work.add([make.new_job(schedule="on-demand"), make.run()])
        due = await store.timetable.due(10)
        assert (list(due.jobs), due.next_in) == ([], None)

    async def test_a_job_to_come_is_announced_but_not_due(self, store: Store, make: Factory) -> None:
        now = await past(store, 0)
        await standing(store, make, now + 2 * FAR)
        await standing(store, make, now + FAR)
        due = await store.timetable.due(10)
        assert not due.jobs
        assert due.next_in is not None
        assert timedelta(0) < due.next_in <= FAR

    async def test_a_job_comes_due(self, store: Store, make: Factory, time: Time) -> None:
        job = await standing(store, make, await past(store, 0) + SHORT)
        await time.pass_(LONGER)
        assert [item.job.id for item in (await store.timetable.due(10)).jobs] == [job.id]

    async def test_more_than_the_limit_asks_to_be_repeated_at_once(self, store: Store, make: Factory) -> None:
        for _ in range(3):
            await standing(store, make)
        due = await store.timetable.due(2)
        assert len(due.jobs) == 2
        assert due.next_in == timedelta(0)

    async def test_due_goes_by_the_wake_time_not_by_the_moment(self, store: Store, make: Factory) -> None:
        await standing(store, make, await past(store), wake_at=await past(store, -3600))
        due = await store.timetable.due(10)
        assert not due.jobs
        assert due.next_in is not None
        assert due.next_in > timedelta(0)

    async def test_due_tells_how_the_active_run_stands(self, store: Store, make: Factory) -> None:
        job = await standing(store, make, await past(store, 3600))
        await fired(store, job)

        async def active() -> State | None:
            (item,) = (await store.timetable.due(10)).jobs
            return item.active

        assert await active() is State.WAITING
        attempt = await claimed_one(store, await a_worker(store))
        assert await active() is State.RUNNING
        await settled(store, attempt, Succeeded())
        assert await active() is State.SUCCEEDED

    async def test_an_active_run_that_is_gone_is_none(self, store: Store, make: Factory, time: Time) -> None:
        job = await standing(store, make)
        await fired(store, job)
        await settled(store, await claimed_one(store, await a_worker(store)), Succeeded())
        await time.pass_(LONGER)
        while await store.upkeep.prune(SHORT, 100):
            pass
        (item,) = (await store.timetable.due(10)).jobs
        assert item.active is None
        assert item.job.active_run is not None

    @pytest.mark.parametrize("state", [JobState.PAUSED, JobState.DELETED])
    async def test_only_active_jobs_come_due(self, store: Store, make: Factory, state: JobState) -> None:
        job = await standing(store, make)
        await store.timetable.save(replace(job, state=state), job)
        due = await store.timetable.due(10)
        assert (list(due.jobs), due.next_in) == ([], None)

    async def test_a_saved_job_has_the_next_version(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        edited = replace(
            job,
            name="new",
            task=a_task(handler="other", payload=b' {"a":1}', priority=3, timeout=timedelta(milliseconds=1500)),
            terms=Terms(
                description="\u00e4",
                schedule="0 6 * * *",
                timezone="Europe/Berlin",
                starts_at=await past(store),
                misfire=Misfire(grace=timedelta(milliseconds=1500), policy=CatchUp.ALL),
                overlap=Overlap.REPLACE,
                allow_unknown_handler=True,
            ),
            next_fire_at=await past(store, -60),
            wake_at=await past(store, -60),
        )
        saved = await store.timetable.save(edited, job)
        assert saved.version == job.version + 1
        assert replace(saved, version=job.version, updated_at=job.updated_at) == edited
        assert await job_of(store, job.id) == saved

    async def test_a_job_without_moments_to_come_is_kept(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        await store.timetable.save(replace(job, next_fire_at=None, wake_at=None), job)
        assert (await job_of(store, job.id)).next_fire_at is None
        assert not (await store.timetable.due(10)).jobs

    async def test_an_edit_at_another_version_changes_nothing(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        moment = await past(store, 60)
        skip = Skip(job_id=job.id, first=moment, last=moment, count=1, reason=SkipReason.EDITED)
        for version in (0, 2):
            with pytest.raises(VersionConflict):
                await store.timetable.save(replace(job, name="new"), replace(job, version=Version(version)), [skip])
        assert await job_of(store, job.id) == job
        assert not await runs_of(store, job)

    async def test_an_edit_of_what_has_fired_since_conflicts_at_the_same_version(
        self, store: Store, make: Factory
    ) -> None:
        job = await standing(store, make)
        run_id = await fired(store, job)
        moved = await job_of(store, job.id)
        with pytest.raises(VersionConflict):
            await store.timetable.save(replace(job, name="new"), job)
        assert await job_of(store, job.id) == moved
        assert moved.version == job.version
        assert await runs_of(store, job) == [run_id]

    async def test_a_job_without_a_next_moment_is_compared_as_such(self, store: Store, make: Factory) -> None:
        new = make.new_job(schedule="on-demand")
        await store.work.add([new])
        with pytest.raises(VersionConflict):
            await store.timetable.save(new.job, replace(new.job, next_fire_at=await past(store)))
        saved = await store.timetable.save(replace(new.job, name="new"), new.job)
        assert (await job_of(store, new.job.id)).name == saved.name == "new"

    async def test_a_job_that_never_was_is_not_found(self, store: Store, make: Factory) -> None:
        job = make.job()
        with pytest.raises(NotFound):
            await store.timetable.save(job, job)

    async def test_a_deleted_job_stays_deleted(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        deleted = await store.timetable.save(replace(job, state=JobState.DELETED), job)
        for expected in (job, deleted):
            with pytest.raises((NotFound, VersionConflict)):
                await store.timetable.save(replace(job, name="again"), expected)
        assert await store.views.job(job.id) is None

    async def test_skips_of_an_edit_are_recorded(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        assert job.next_fire_at is not None
        first, last = job.next_fire_at, job.next_fire_at + 3 * PERIOD
        skip = Skip(job_id=job.id, first=first, last=last, count=4, reason=SkipReason.PAUSED)
        await store.timetable.save(job, job, [skip])
        run = await seen(store, fired_run_id(job.id, first))
        assert (run.state, run.reason) == (State.SKIPPED, "paused")
        assert (run.due_at, run.skipped_to, run.skipped_count) == (first, last, 4)
        listed = (await store.views.runs(RunFilter(job_id=job.id), Cursor(limit=10))).items
        assert [(run.due_at, run.skipped_to, run.skipped_count) for run in listed] == [(first, last, 4)]

    async def test_an_edit_leaves_the_active_run_as_the_timetable_set_it(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        run_id = await fired(store, job)
        moved = await job_of(store, job.id)
        saved = await store.timetable.save(replace(moved, name="renamed", active_run=None), moved)
        assert saved.active_run == run_id
        assert (await job_of(store, job.id)).active_run == run_id

    async def test_runs_keep_the_task_that_they_were_made_with(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        run_id = await fired(store, job)
        moved = await job_of(store, job.id)
        await store.timetable.save(replace(moved, task=a_task(payload=b"2")), moved)
        assert (await seen(store, run_id)).task == job.task
