"""The `Views` port: looking up jobs, runs and dead letters. Lists and figures have files of their own."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.ids import RunId
from mainspring.domain.job import JobState, Terms
from mainspring.domain.outcome import Cancelled, Failed, Outcome, Succeeded, fingerprint
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.run import State
from mainspring.ports.views import Cursor, DeadFilter
from mainspring.ports.work import Cancel, Hold
from mainspring.testing.contracts.base import (
    FAR,
    Store,
    a_worker,
    added,
    claimed_one,
    dead,
    held,
    job_of,
    seen,
    settled,
)
from mainspring.testing.contracts.figures import FiguresContract
from mainspring.testing.contracts.firing import advance, fired, standing
from mainspring.testing.contracts.pages import PagesContract
from mainspring.testing.factories import Factory, a_key


class ViewsContract(PagesContract, FiguresContract):
    """All that is asked of `Views`."""

    async def test_what_never_was_is_not_there(self, store: Store, make: Factory) -> None:
        assert await store.views.job(make.id()) is None
        assert await store.views.run(RunId(make.id())) is None

    async def test_keys_are_taken_as_long_as_they_stand_for_something(self, store: Store, make: Factory) -> None:
        assert await store.views.keys_taken("ann", []) == frozenset()
        await store.work.add([make.run(owner="ann", key=a_key("one")), make.new_job(owner="ann", key=a_key("two"))])
        worker = await a_worker(store)
        await settled(store, await claimed_one(store, worker), Succeeded())
        await added(store, make.run(owner="ann"))
        await added(store, make.run(owner="ben", key=a_key("three")))
        asked = ["one", "two", "three", "four", "one"]
        assert await store.views.keys_taken("ann", asked) == {"one", "two"}
        assert await store.views.keys_taken("ben", asked) == {"three"}
        assert await store.views.keys_taken("cy", asked) == frozenset()

    async def test_a_one_shot_job_and_its_run_are_one(self, store: Store, make: Factory) -> None:
        spec = Terms(description="why").to_json()
        new = make.run(due=FAR, owner="o", project="p", name="n", key=a_key("k"), spec=spec)
        await added(store, new)
        record = await store.views.job(new.job_id)
        assert record is not None
        run = await seen(store, new.id)
        assert record.run == run
        job = record.job
        assert (job.id, job.task, job.state, job.version) == (new.job_id, new.task, JobState.ACTIVE, run.version)
        assert (job.owner, job.project, job.name, job.key) == ("o", "p", "n", "k")
        assert job.created_at == run.created_at
        assert job.terms.description == "why"

    @pytest.mark.parametrize("due", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
    async def test_the_first_and_the_last_instant_are_instants_like_any_other(
        self, store: Store, make: Factory, due: datetime
    ) -> None:
        new = make.run(due=due)
        await added(store, new)
        run = await seen(store, new.id)
        assert abs(run.due_at - due) < timedelta(milliseconds=1)
        assert run.wake_at == run.due_at

    async def test_a_one_shot_job_is_paused_while_it_is_held(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Hold())
        assert (await job_of(store, new.job_id)).state is JobState.PAUSED

    @pytest.mark.parametrize(
        ("outcome", "state"),
        [
            (Succeeded(), State.SUCCEEDED),
            (Failed(error="broken", permanent=True), State.DEAD),
            (Cancelled(), State.CANCELLED),
            (Failed(error="busy", retry_after=FAR), State.WAITING),
        ],
    )
    async def test_a_job_is_found_in_every_state_of_its_run(
        self, store: Store, make: Factory, outcome: Outcome, state: State
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        record = await store.views.job(attempt.job_id)
        assert record is not None
        assert record.run is not None
        assert record.run.state is State.RUNNING
        await settled(store, attempt, outcome)
        record = await store.views.job(attempt.job_id)
        assert record is not None
        assert record.run is not None
        assert record.run.state is state

    async def test_a_standing_job_shows_its_current_run_or_else_its_latest(self, store: Store, make: Factory) -> None:
        job, worker = await standing(store, make), await a_worker(store)

        async def shown() -> RunId | None:
            record = await store.views.job(job.id)
            assert record is not None
            return record.run.id if record.run else None

        assert await shown() is None
        first = await fired(store, job)
        assert await shown() == first
        attempt = await claimed_one(store, worker)
        assert await shown() == first
        await settled(store, attempt, Succeeded())
        assert await shown() == first
        second = await fired(store, await job_of(store, job.id))
        assert await shown() == second
        await settled(store, await claimed_one(store, worker), Succeeded())
        assert await shown() == second

    async def test_a_run_that_lives_is_shown_before_a_later_one_that_has_ended(
        self, store: Store, make: Factory
    ) -> None:
        job, worker = await standing(store, make), await a_worker(store)
        first = await fired(store, job)
        held_up = await claimed_one(store, worker)
        await fired(store, await job_of(store, job.id))
        await settled(store, await claimed_one(store, worker), Succeeded())
        record = await store.views.job(job.id)
        assert record is not None
        assert record.run is not None
        assert record.run.id == first == held_up.run_id

    async def test_moments_that_were_skipped_are_not_shown_as_a_jobs_run(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        run_id = await fired(store, job)
        await settled(store, await claimed_one(store, await a_worker(store)), Succeeded())
        moved = await job_of(store, job.id)
        assert moved.next_fire_at is not None
        skip = Skip(
            job_id=job.id, first=moved.next_fire_at, last=moved.next_fire_at, count=1, reason=SkipReason.OVERLAP
        )
        await store.timetable.fire([advance(moved, skip, makes_run=False)])
        record = await store.views.job(job.id)
        assert record is not None
        assert record.run is not None
        assert record.run.id == run_id

    async def test_a_requeued_one_shot_job_shows_its_new_run(self, store: Store, make: Factory) -> None:
        died = await dead(store, await a_worker(store), make.run())
        again = make.run(job_id=died.job_id, origin=died.id)
        await added(store, again)
        record = await store.views.job(died.job_id)
        assert record is not None
        assert record.run is not None
        assert (record.job.id, record.run.id) == (died.job_id, again.id)

    async def test_a_requeue_that_lives_is_shown_before_a_later_one_that_has_ended(
        self, store: Store, make: Factory
    ) -> None:
        died = await dead(store, await a_worker(store), make.run())
        live, ended = (make.run(job_id=died.job_id, origin=died.id) for _ in range(2))
        await added(store, live, ended)
        await store.work.steer(ended.id, Cancel())
        record = await store.views.job(died.job_id)
        assert record is not None
        assert record.run is not None
        assert record.run.id == live.id

    async def test_a_deleted_job_is_not_shown_but_its_runs_are(self, store: Store, make: Factory) -> None:
        job = await standing(store, make)
        run_id = await fired(store, job)
        moved = await job_of(store, job.id)
        await store.timetable.save(replace(moved, state=JobState.DELETED), moved)
        assert await store.views.job(job.id) is None
        assert (await seen(store, run_id)).job_id == job.id

    async def test_a_dead_letter_is_listed_with_what_it_died_of(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        first = await dead(store, worker, make.run(handler="a"), "cannot open file 17")
        second = await dead(store, worker, make.run(handler="a"), "cannot open file 99")
        other = await dead(store, worker, make.run(handler="b"), "cannot open file 17")
        letters = (await store.views.dead_letters(DeadFilter(), Cursor())).items
        assert [letter.run for letter in letters] == [other, second, first]
        assert [letter.died_at for letter in letters] == [run.finished_at for run in (other, second, first)]
        mark = fingerprint("a", "cannot open file 17")
        assert [letter.fingerprint == mark for letter in letters] == [False, True, True]

    async def test_dead_letters_are_filtered(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        first = await dead(store, worker, make.run(handler="a", owner="o"), "x")
        second = await dead(store, worker, make.run(handler="b", owner="p"), "y")

        async def found(where: DeadFilter) -> list[RunId]:
            return [letter.run.id for letter in (await store.views.dead_letters(where, Cursor())).items]

        assert await found(DeadFilter(owner="o")) == [first.id]
        assert await found(DeadFilter(handler="b")) == [second.id]
        assert await found(DeadFilter(job_id=first.job_id)) == [first.id]
        assert await found(DeadFilter(fingerprint=fingerprint("b", "y"))) == [second.id]
        assert await found(DeadFilter(owner="o", handler="b")) == []
        assert await found(DeadFilter(owner="\0", handler="\0", fingerprint="\0")) == []

    async def test_the_stores_clock_moves_forward(self, store: Store) -> None:
        first = await store.views.now()
        assert first.utcoffset() is not None
        assert await store.views.now() >= first
