"""The `Upkeep` port: forgets what is old enough, and never what somebody still needs."""

from datetime import datetime, timedelta

import pytest

from mainspring.domain.ids import Fence, RunId
from mainspring.domain.outcome import Cancelled, Failed, Lost, Outcome, Settled, Succeeded
from mainspring.domain.run import State
from mainspring.errors import NotFound
from mainspring.ports.locks import Lock
from mainspring.ports.output import Printed
from mainspring.ports.sessions import News
from mainspring.ports.views import Cursor, DeadFilter
from mainspring.ports.work import Addition
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import (
    FAR,
    LONGER,
    SHORT,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    dead,
    held,
    seen,
    settled,
    state_of,
)
from mainspring.testing.contracts.figures import totals
from mainspring.testing.factories import Factory, a_key, a_session, a_task


async def prune_all(store: Store, older_than: timedelta = SHORT) -> int:
    """Prune until nothing of that age is left."""
    removed = 0
    while step := await store.upkeep.prune(older_than, 3):
        assert step <= 3
        removed += step
    return removed


class UpkeepContract(StoreContract):
    """All that is asked of `Upkeep`."""

    @pytest.mark.parametrize("outcome", [Succeeded(), Failed(error="broken", permanent=True), Cancelled()])
    async def test_ended_runs_that_are_old_enough_are_forgotten(
        self, store: Store, make: Factory, time: Time, outcome: Outcome
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, outcome)
        assert await prune_all(store, FAR) == 0
        await seen(store, attempt.run_id)
        await time.pass_(LONGER)
        assert await prune_all(store) > 0
        assert await store.views.run(attempt.run_id) is None
        assert await store.views.job(attempt.job_id) is None
        assert await settled(store, attempt, Succeeded()) is Settled.STALE

    async def test_only_what_is_old_enough_is_forgotten(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store)
        ended: dict[RunId, datetime] = {}
        for _ in range(5):
            attempt = await held(store, worker, make.run())
            await settled(store, attempt, Succeeded())
            finished_at = (await seen(store, attempt.run_id)).finished_at
            assert finished_at is not None
            ended[attempt.run_id] = finished_at
            await time.pass_(SHORT)
        age = SHORT * 5 / 2
        before = await store.views.now()
        await prune_all(store, age)
        after = await store.views.now()
        for run_id, finished_at in ended.items():
            if await store.views.run(run_id) is None:
                assert finished_at <= after - age
            else:
                assert finished_at >= before - age

    async def test_dead_letters_are_forgotten_at_the_same_age(self, store: Store, make: Factory, time: Time) -> None:
        died = await dead(store, await a_worker(store), make.run())
        await time.pass_(LONGER)
        await prune_all(store)
        assert not (await store.views.dead_letters(DeadFilter(), Cursor())).items
        assert (await store.views.figures()).dead_letters == 0
        assert list(await store.work.discard([died.id])) == [False]

    async def test_live_runs_are_never_forgotten(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store)
        running, rescued = await held(store, worker, make.run()), await held(store, worker, make.run())
        await settled(store, rescued, Lost())
        waiting = make.run(due=FAR)
        await added(store, waiting)
        await time.pass_(LONGER)
        await prune_all(store)
        assert await state_of(store, running.run_id) is State.RUNNING
        assert await state_of(store, rescued.run_id) is State.WAITING
        assert await state_of(store, waiting.id) is State.WAITING
        assert len(await claimed(store, worker)) == 1

    async def test_standing_jobs_are_never_forgotten(self, store: Store, make: Factory, time: Time) -> None:
        job = make.new_job(key=a_key("k"))
        await store.work.add([job])
        await time.pass_(LONGER)
        await prune_all(store)
        assert await store.views.job(job.job.id) is not None
        (answer,) = await store.work.add([make.new_job(key=a_key("k"))])
        assert (answer.kind, answer.id) == (Addition.EXISTING, job.job.id)

    async def test_a_key_is_kept_as_long_as_its_run_lives(self, store: Store, make: Factory, time: Time) -> None:
        live, ended = make.run(key=a_key("live"), due=FAR), make.run(key=a_key("ended"))
        await settled(store, await held(store, await a_worker(store), ended), Succeeded())
        await added(store, live)
        await time.pass_(LONGER)
        await prune_all(store)
        answers = await store.work.add([make.run(key=a_key("live")), make.run(key=a_key("ended"))])
        assert [answer.kind for answer in answers] == [Addition.EXISTING, Addition.CREATED]

    async def test_a_blob_is_kept_as_long_as_something_live_needs_it(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        run_blob, job_blob, lost_blob = [await store.blobs.put(data) for data in (b"run", b"job", b"lost")]
        await store.work.add(
            [make.run(due=FAR, blob=run_blob, payload=b""), make.new_job(task=a_task(blob=job_blob, payload=b""))]
        )
        await time.pass_(LONGER)
        await prune_all(store)
        assert await store.blobs.get(run_blob) == b"run"
        assert await store.blobs.get(job_blob) == b"job"
        with pytest.raises(NotFound):
            await store.blobs.get(lost_blob)

    async def test_a_blob_that_was_put_again_is_young_again(self, store: Store, time: Time) -> None:
        blob_id = await store.blobs.put(b"again")
        await time.pass_(LONGER)
        put_again_at = await store.views.now()
        await store.blobs.put(b"again")
        await prune_all(store, LONGER)
        try:
            await store.blobs.get(blob_id)
        except NotFound:
            # Allowed only where the store was so slow that the second put was old by then, too.
            assert await store.views.now() >= put_again_at + LONGER

    async def test_output_is_forgotten_with_its_run(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store)
        ended, running = [await held(store, worker, make.run()) for _ in range(2)]
        await store.output.write(
            [Printed(run_id=attempt.run_id, fence=attempt.fence, head=b"x") for attempt in (ended, running)]
        )
        await settled(store, ended, Succeeded())
        await time.pass_(LONGER)
        await prune_all(store)
        assert await store.output.read(ended.run_id) is None
        assert await store.output.read(running.run_id) is not None

    async def test_an_ended_session_is_kept_as_long_as_it_holds_runs(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        await store.sessions.close(worker)
        await time.pass_(LONGER)
        await prune_all(store)
        assert list(await store.sessions.bury(10)) == [worker]
        assert list(await store.sessions.held(worker, 10)) == [attempt]

    async def test_the_id_of_a_forgotten_session_is_not_given_again(self, store: Store, time: Time) -> None:
        forgotten = await a_worker(store)
        await store.sessions.close(forgotten)
        await time.pass_(LONGER)
        await prune_all(store)
        assert await a_worker(store) != forgotten
        assert await store.sessions.beat(forgotten, News()) is None

    async def test_live_sessions_are_never_forgotten(self, store: Store, time: Time) -> None:
        session = await store.sessions.open(a_session("worker-1"))
        await time.pass_(LONGER)
        await prune_all(store)
        assert not await claimed(store, session)

    async def test_the_fence_of_a_lock_survives(self, store: Store, time: Time) -> None:
        first = await store.locks.acquire("door", "ann", SHORT)
        await time.pass_(LONGER + self.lock_skew)
        await prune_all(store)
        second = await store.locks.acquire("door", "ben", FAR)
        assert isinstance(first, Lock)
        assert isinstance(second, Lock)
        assert second.fence > first.fence > Fence(0)

    async def test_totals_do_not_forget(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store)
        await settled(store, await held(store, worker, make.run()), Succeeded())
        await dead(store, worker, make.run())
        before = totals(await store.views.figures())
        await time.pass_(LONGER)
        await prune_all(store)
        while await store.upkeep.fold(1):
            pass
        assert totals(await store.views.figures()) == before

    async def test_a_fold_is_bounded_and_comes_to_an_end(self, store: Store, make: Factory) -> None:
        for _ in range(5):
            await added(store, make.run())
        before = totals(await store.views.figures())
        while folded := await store.upkeep.fold(2):
            assert folded <= 2
            assert totals(await store.views.figures()) == before
        assert totals(await store.views.figures()) == before
