"""The `Changes` port: whoever goes on from where it was learns of everything that lasted."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.domain.ids import RunId
from mainspring.domain.job import JobState
from mainspring.domain.outcome import Failed, Outcome, Succeeded
from mainspring.domain.run import State
from mainspring.ports.changes import Batch, Position
from mainspring.ports.work import Cancel, Edit, Hold, Release
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import (
    LONGER,
    SHORT,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    claimed_one,
    dead,
    held,
    past,
    settled,
)
from mainspring.testing.contracts.firing import fired, standing
from mainspring.testing.factories import Factory

MANY = 1000
FAILS = Failed(error="broken", retry_after=timedelta(hours=1))


async def since(store: Store, position: Position, most: int = MANY) -> Batch:
    """What the store can tell."""
    batch = await store.changes.since(position, most=most)
    assert batch is not None
    return batch


def states(batch: Batch) -> dict[RunId, State]:
    """The runs of a batch, each of which it names once."""
    told = {run.id: run.state for run in batch.runs}
    assert len(told) == len(batch.runs)
    return told


class ChangesContract(StoreContract):
    """All that is asked of `Changes`."""

    async def test_nothing_is_told_when_nothing_has_changed(self, store: Store, make: Factory) -> None:
        await dead(store, await a_worker(store), make.run())
        await store.work.add([make.run(due=timedelta(hours=1)), make.new_job()])
        batch = await since(store, await store.changes.position())
        assert (list(batch.runs), list(batch.jobs), batch.counts) == ([], [], None)
        assert not (await since(store, batch.position)).runs

    async def test_an_added_run_is_told(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        run = make.run(owner="ann", name="n", handler="test.log")
        await added(store, run)
        (told,) = (await since(store, start)).runs
        assert (told.id, told.job_id, told.owner, told.name) == (run.id, run.job_id, "ann", "n")
        assert (told.handler, told.state, told.attempt, told.worker) == ("test.log", State.WAITING, 0, None)
        assert (told.started_at, told.finished_at) == (None, None)

    async def test_a_started_run_is_told_with_its_worker(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store, "worker-7")
        await held(store, worker, make.run(lane="other"))
        await added(store, make.run())
        start = await store.changes.position()
        await time.pass_(SHORT)
        attempt = await claimed_one(store, worker)
        (told,) = (await since(store, start)).runs
        assert (told.id, told.state, told.fence) == (attempt.run_id, State.RUNNING, attempt.fence)
        assert (told.worker, told.attempt, told.started_at) == ("worker-7", 1, attempt.started_at)

    @pytest.mark.parametrize(
        ("outcome", "state"), [(Succeeded(), State.SUCCEEDED), (Failed(error="x", permanent=True), State.DEAD)]
    )
    async def test_an_ended_run_is_told(self, store: Store, make: Factory, outcome: Outcome, state: State) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        start = await store.changes.position()
        await settled(store, attempt, outcome)
        batch = await since(store, start)
        assert states(batch) == {attempt.run_id: state}
        assert batch.runs[0].finished_at is not None
        assert not (await since(store, batch.position)).runs

    async def test_a_run_that_came_and_ended_is_told_by_its_end(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        run = await dead(store, await a_worker(store), make.run())
        assert states(await since(store, start)) == {run.id: State.DEAD}

    async def test_a_cancelled_run_is_told_with_the_reason(self, store: Store, make: Factory) -> None:
        run = make.run()
        await added(store, run)
        start = await store.changes.position()
        await store.work.steer(run.id, Cancel(reason="no more"))
        (told,) = (await since(store, start)).runs
        assert (told.state, told.reason) == (State.CANCELLED, "no more")

    async def test_a_held_a_released_and_an_edited_run_are_told(self, store: Store, make: Factory) -> None:
        run, other = make.run(name="old"), make.run()
        await added(store, run, other)
        batch = await since(store, await store.changes.position())
        for order in (Hold(), Release(), Edit(name="new")):
            await store.work.steer(run.id, order)
            batch = await since(store, batch.position)
            assert states(batch) == {run.id: State.WAITING}, order
        assert batch.runs[0].name == "new"
        assert not (await since(store, batch.position)).runs

    async def test_an_order_that_changed_nothing_is_not_told(self, store: Store, make: Factory) -> None:
        run = make.run()
        await added(store, run)
        await store.work.steer(run.id, Hold())
        start = await store.changes.position()
        await store.work.steer(run.id, Hold())
        await store.work.steer(run.id, Edit(name="new", expected_version=77))
        assert not (await since(store, start)).runs

    async def test_a_run_that_was_steered_often_is_told_and_counted_once(self, store: Store, make: Factory) -> None:
        run, watched = make.run(owner="ann"), make.run(owner="ann")
        await added(store, run, watched)
        start = await store.changes.position()
        for _ in range(3):
            for each in (run, watched):
                await store.work.steer(each.id, Hold())
                await store.work.steer(each.id, Release())
        assert states(await since(store, start)) == {run.id: State.WAITING, watched.id: State.WAITING}
        batch = await store.changes.since(start, most=1, watched=[watched.job_id])
        assert batch is not None
        assert batch.counts is not None
        assert dict(batch.counts["ann"].runs) == {State.WAITING: 2}
        assert states(batch) == {watched.id: State.WAITING}

    async def test_the_runs_that_run_are_told_until_they_are_put_back(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        attempt = await held(store, await a_worker(store), make.run())
        running = (await since(store, start)).running
        assert running is not None
        assert [(run.id, run.fence) for run in running.values()] == [(attempt.run_id, attempt.fence)]
        await settled(store, attempt, FAILS)
        assert (await since(store, start)).running == {}

    async def test_added_edited_and_deleted_jobs_are_told(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        job = await standing(store, make, await past(store, -60))
        batch = await since(store, start)
        assert [(told.id, told.version, told.next_fire_at) for told in batch.jobs] == [(job.id, 1, job.next_fire_at)]
        for state in (JobState.PAUSED, JobState.DELETED):
            job = await store.timetable.save(replace(job, state=state, name=state.name), job)
            batch = await since(store, batch.position)
            assert [(told.id, told.state, told.name) for told in batch.jobs] == [(job.id, state, state.name)]
        assert [told.version for told in (await since(store, start)).jobs] == [3]

    async def test_jobs_are_told_in_the_order_of_their_changes(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        new = [make.new_job(owner="ann") for _ in range(3)]
        await store.work.add(new)
        await store.timetable.save(replace(new[0].job, name="edited"), new[0].job)
        told = [job.id for job in (await since(store, start)).jobs]
        if not self.has_transactions:
            told[:2] = sorted(told[:2])  # what is added at once has no order of its own there
        assert told == [new[1].job.id, new[2].job.id, new[0].job.id]

    async def test_a_tick_is_no_edit(self, store: Store, make: Factory) -> None:
        job = await standing(store, make, await past(store))
        start = await store.changes.position()
        run_id = await fired(store, job)
        batch = await since(store, start)
        assert (states(batch), list(batch.jobs)) == ({run_id: State.WAITING}, [])

    async def test_whoever_was_away_learns_all_at_once(
        self, store: Store, second_store: Store, make: Factory, time: Time
    ) -> None:
        worker = await a_worker(store)
        start = await store.changes.position()
        gone = await dead(store, worker, make.run())
        await time.pass_(SHORT)
        attempt = await held(second_store, worker, make.run())
        waiting = make.run()
        await added(second_store, waiting)
        expected = {gone.id: State.DEAD, attempt.run_id: State.RUNNING, waiting.id: State.WAITING}
        assert states(await since(store, start)) == states(await since(second_store, start)) == expected

    async def test_too_many_changes_are_counted_by_owner(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        await added(store, *make.runs(4, owner="ann"), *make.runs(3, owner="bob"))
        await store.work.add([make.new_job(owner="cy")])
        for attempt in await claimed(store, await a_worker(store), 2):
            await settled(store, attempt, Succeeded())
        batch = await since(store, start, most=5)
        assert batch.counts is not None
        assert (list(batch.runs), list(batch.jobs)) == ([], [])
        assert {owner: (dict(count.runs), count.jobs) for owner, count in batch.counts.items()} == {
            "ann": ({State.SUCCEEDED: 2, State.WAITING: 2}, 0),
            "bob": ({State.WAITING: 3}, 0),
            "cy": ({}, 1),
        }
        after = await since(store, batch.position, most=5)
        assert (after.counts, list(after.runs)) == (None, [])

    async def test_watched_jobs_are_named_however_many_changes_there_are(self, store: Store, make: Factory) -> None:
        start = await store.changes.position()
        runs = make.runs(10)
        await added(store, *runs)
        batch = await store.changes.since(start, most=3, watched=[runs[4].job_id, make.id()])
        assert batch is not None
        assert batch.counts is not None
        assert states(batch) == {runs[4].id: State.WAITING}
        for attempt in await claimed(store, await a_worker(store)):
            await settled(store, attempt, Succeeded())
        batch = await store.changes.since(start, most=3, watched=[run.job_id for run in runs])
        assert batch is not None
        assert len(batch.runs) == 3
        assert {run.state for run in batch.runs} == {State.SUCCEEDED}

    async def test_what_was_forgotten_cannot_be_told(self, store: Store, make: Factory, time: Time) -> None:
        start = await store.changes.position()
        worker = await a_worker(store)
        await dead(store, worker, make.run())
        await time.pass_(LONGER)
        while await store.upkeep.prune(SHORT, 100):
            pass
        await dead(store, worker, make.run())
        after = await store.changes.position()
        assert await store.changes.since(start, most=MANY) is None
        assert not (await since(store, after)).runs

    async def test_going_on_after_everything_was_forgotten_misses_nothing(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        worker = await a_worker(store)
        await dead(store, worker, make.run())
        position = await store.changes.position()
        await time.pass_(LONGER)
        while await store.upkeep.prune(SHORT, 100):
            pass
        run = await dead(store, worker, make.run())
        assert states(await since(store, position)) == {run.id: State.DEAD}

    @pytest.mark.parametrize("position", ["", "nonsense", "-1", "9" * 17, ".".join(["9" * 17] * 4), "1.2.3", "1.1.1.é"])
    async def test_a_position_of_somebody_else_is_none(self, store: Store, make: Factory, position: str) -> None:
        await added(store, make.run())
        assert await store.changes.since(Position(position), most=MANY) is None
