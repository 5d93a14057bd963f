"""Settling what came of attempts: the fence decides whose word counts."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from mainspring.domain.ids import BlobId, RunId
from mainspring.domain.outcome import Cancelled, Failed, HandedBack, Lost, Outcome, Settled, Snoozed, Succeeded
from mainspring.domain.retry import LONGEST_DELAY
from mainspring.domain.run import Run, State
from mainspring.ports.views import Cursor, JobFilter, RunFilter
from mainspring.ports.work import Cancel, Effect, Hold, Release
from mainspring.testing.contracts.base import (
    FAR,
    Extremes,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    claimed_one,
    held,
    seen,
    settled,
    state_of,
    verdict,
)
from mainspring.testing.factories import Factory

NOTHING = timedelta(0)
AT_ONCE = Failed(error="busy", retry_after=NOTHING)
FATAL = Failed(error="broken", permanent=True)
ENDINGS = [(Succeeded(result=b"1"), State.SUCCEEDED), (FATAL, State.DEAD), (Cancelled(reason="asked"), State.CANCELLED)]
LEFT_ALIVE = [AT_ONCE, Snoozed(delay=NOTHING), HandedBack()]
"""Outcomes that put a run back under a new fence."""


class SettlingContract(StoreContract):
    """`Work.settle`."""

    @pytest.mark.parametrize(("outcome", "state"), ENDINGS)
    async def test_an_ending_is_accepted_once_and_absorbs(
        self, store: Store, make: Factory, outcome: Outcome, state: State
    ) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        assert await settled(store, attempt, outcome) is Settled.ACCEPTED
        ended = await seen(store, attempt.run_id)
        assert (ended.state, ended.fence, ended.attempt, ended.wake_at) == (state, attempt.fence, 1, None)
        assert ended.finished_at is not None
        assert ended.finished_at >= attempt.started_at
        for repeat in (outcome, Succeeded(result=b"2"), AT_ONCE):
            assert await settled(store, attempt, repeat) is Settled.REPEATED
        assert await settled(store, attempt, Lost()) is not Settled.ACCEPTED
        assert await seen(store, attempt.run_id) == ended
        assert not await claimed(store, worker)

    @pytest.mark.parametrize("delay", [timedelta(days=365 * 9000), timedelta.max])
    async def test_a_wait_beyond_the_calendar_is_cut(self, store: Store, make: Factory, delay: timedelta) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(2))
        endless, other = await claimed(store, worker)
        wait = replace(verdict(endless, Snoozed(delay=FAR)), delay=delay)
        assert await store.work.settle([wait, verdict(other, Succeeded())]) == [Settled.ACCEPTED, Settled.ACCEPTED]
        wake_at = (await seen(store, endless.run_id)).wake_at
        assert wake_at is not None
        assert LONGEST_DELAY - FAR <= wake_at - endless.started_at <= LONGEST_DELAY + FAR

    async def test_a_run_that_wakes_after_the_calendar_harms_nobody(
        self, store: Store, make: Factory, extremes: Extremes
    ) -> None:
        worker = await a_worker(store)
        endless, other = make.runs(2, due=FAR)
        await added(store, endless, other)
        await extremes.put_off(endless.id)
        assert not await claimed(store, worker)
        await store.work.next_wake([endless.task.lane])
        for _ in range(2):
            assert {run.id for run in (await store.views.runs(RunFilter(), Cursor())).items} == {endless.id, other.id}
            shown = (await store.views.jobs(JobFilter(), Cursor())).items
            assert {record.job.id for record in shown} == {endless.job_id, other.job_id}
            assert (await seen(store, endless.id)).state is State.WAITING
            assert (await store.work.steer(endless.id, Hold())).effect is Effect.DONE
            assert (await store.work.steer(endless.id, Release())).effect is Effect.DONE
        assert (await store.work.steer(endless.id, Cancel())).effect is Effect.DONE
        assert await store.work.hide(endless.job_id)

    async def test_a_result_is_kept_byte_for_byte(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        for result in (None, b"", b'"\\u0000 \x00"', b' {"b":1, "a":2} ', b"x" * 4096):
            attempt = await held(store, worker, make.run())
            await settled(store, attempt, Succeeded(result=result))
            assert (await seen(store, attempt.run_id)).result == result

    async def test_a_large_result_is_kept_by_its_blobs_name(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, Succeeded(blob=BlobId("b" * 64)))
        run = await seen(store, attempt.run_id)
        assert (run.result, run.result_blob) == (None, BlobId("b" * 64))

    async def test_a_failure_that_is_retried_leaves_its_traces(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        told = verdict(attempt, Failed(error="busy \u00e4", retry_after=FAR))
        assert await store.work.settle([told]) == [Settled.ACCEPTED]
        run = await seen(store, attempt.run_id)
        assert (run.state, run.attempt, run.failures, run.error) == (State.WAITING, 1, 1, "busy \u00e4")
        assert (run.log, run.finished_at) == (told.log, None)
        assert run.wake_at is not None
        assert run.wake_at >= attempt.started_at + FAR
        assert run.due_at == attempt.due_at

    async def test_an_ended_run_remembers_who_ran_it_and_why_it_ended(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store, "worker-7"), make.run())
        await settled(store, attempt, FATAL)
        run = await seen(store, attempt.run_id)
        assert (run.worker, run.error, run.reason) == ("worker-7", "broken", "permanent failure")
        assert run.started_at == attempt.started_at

    @pytest.mark.parametrize("outcome", LEFT_ALIVE)
    async def test_a_settle_that_leaves_the_run_alive_moves_its_fence(
        self, store: Store, make: Factory, outcome: Outcome
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        assert await settled(store, attempt, outcome) is Settled.ACCEPTED
        run = await seen(store, attempt.run_id)
        assert run.state is State.WAITING
        assert run.fence > attempt.fence

    @pytest.mark.parametrize("outcome", LEFT_ALIVE)
    async def test_a_repeated_settle_that_left_the_run_alive_changes_nothing(
        self, store: Store, make: Factory, outcome: Outcome
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, outcome)
        before = await seen(store, attempt.run_id)
        assert await settled(store, attempt, outcome) is Settled.REPEATED
        assert await seen(store, attempt.run_id) == before

    async def test_a_hand_back_takes_its_attempt_back(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        await settled(store, attempt, HandedBack())
        assert (await seen(store, attempt.run_id)).attempt == 0
        assert (await claimed_one(store, worker)).attempt == 1

    async def test_a_loss_leaves_the_fence_alone(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        assert await settled(store, attempt, Lost()) is Settled.ACCEPTED
        run = await seen(store, attempt.run_id)
        assert (run.state, run.fence, run.losses) == (State.WAITING, attempt.fence, 1)

    async def test_a_repeated_loss_is_charged_once(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, Lost())
        before = await seen(store, attempt.run_id)
        assert await settled(store, attempt, Lost()) is not Settled.ACCEPTED
        assert await seen(store, attempt.run_id) == before

    async def test_the_third_loss_in_a_row_is_a_dead_letter(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        for _ in range(2):
            await settled(store, attempt, Lost())
            attempt = await claimed_one(store, worker)
        assert await settled(store, attempt, Lost()) is Settled.ACCEPTED
        assert await state_of(store, attempt.run_id) is State.DEAD

    async def test_a_loss_must_name_the_session_that_holds_the_run(self, store: Store, make: Factory) -> None:
        worker, other = await a_worker(store), await a_worker(store, "worker-2")
        attempt = await held(store, worker, make.run())
        mistaken = replace(verdict(attempt, Lost()), session=other)
        assert await store.work.settle([mistaken]) == [Settled.STALE]
        assert await state_of(store, attempt.run_id) is State.RUNNING
        assert await settled(store, attempt, Succeeded()) is Settled.ACCEPTED

    @pytest.mark.parametrize(("outcome", "state"), [*ENDINGS, (AT_ONCE, State.WAITING)])
    async def test_a_late_result_counts_until_somebody_else_has_claimed(
        self, store: Store, make: Factory, outcome: Outcome, state: State
    ) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        await settled(store, attempt, Lost())
        assert await settled(store, attempt, outcome) is Settled.ACCEPTED
        assert await state_of(store, attempt.run_id) is state

    @pytest.mark.parametrize("outcome", [Succeeded(), FATAL, AT_ONCE, Lost(), HandedBack(), Cancelled()])
    async def test_a_late_result_is_stale_once_somebody_else_has_claimed(
        self, store: Store, make: Factory, outcome: Outcome
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, Lost())
        current = await claimed_one(store, await a_worker(store, "worker-2"))
        before = await seen(store, attempt.run_id)
        assert await settled(store, attempt, outcome) is Settled.STALE
        assert await seen(store, attempt.run_id) == before
        assert await settled(store, current, Succeeded(result=b"2")) is Settled.ACCEPTED
        assert await settled(store, attempt, outcome) is Settled.STALE
        assert (await seen(store, attempt.run_id)).result == b"2"

    async def test_a_late_result_does_not_count_once_the_run_was_steered(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, Lost())
        await store.work.steer(attempt.run_id, Hold())
        before = await seen(store, attempt.run_id)
        assert await settled(store, attempt, Succeeded()) is not Settled.ACCEPTED
        assert await seen(store, attempt.run_id) == before

    async def test_an_unknown_run_is_stale(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        unknown = replace(verdict(attempt, Succeeded()), run_id=RunId(make.id()))
        assert await store.work.settle([unknown]) == [Settled.STALE]

    async def test_a_batch_is_answered_in_its_order(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        stale, fine, repeated = [await held(store, worker, make.run()) for _ in range(3)]
        await settled(store, repeated, Succeeded())
        await settled(store, stale, Lost())
        await claimed_one(store, worker)
        verdicts = [verdict(attempt, Succeeded()) for attempt in (stale, fine, repeated)]
        assert await store.work.settle(verdicts) == [Settled.STALE, Settled.ACCEPTED, Settled.REPEATED]
        assert list(await store.work.settle([])) == []

    @pytest.mark.parametrize("outcome", [Succeeded(), AT_ONCE, Lost()])
    async def test_one_verdict_twice_in_a_batch_counts_once(
        self, store: Store, make: Factory, outcome: Outcome
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        told = verdict(attempt, outcome)
        answers = await store.work.settle([told, told])
        assert [answer is Settled.ACCEPTED for answer in answers] == [True, False]

    async def test_of_concurrent_verdicts_one_is_accepted(
        self, store: Store, second_store: Store, make: Factory
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        outcomes: list[Outcome] = [Succeeded(), FATAL, Succeeded(), AT_ONCE]
        answers = await asyncio.gather(
            *(
                settled(handle, attempt, outcome)
                for handle, outcome in zip([store, second_store] * 2, outcomes, strict=True)
            )
        )
        assert answers.count(Settled.ACCEPTED) == 1

    @pytest.mark.parametrize("outcome", [*LEFT_ALIVE, FATAL, Lost(), Cancelled()])
    async def test_a_flagged_run_that_did_not_succeed_ends_cancelled(
        self, store: Store, make: Factory, outcome: Outcome
    ) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        assert (await store.work.steer(attempt.run_id, Cancel())).effect is Effect.FLAGGED
        assert await settled(store, attempt, outcome) is Settled.ACCEPTED
        run: Run = await seen(store, attempt.run_id)
        assert (run.state, run.fence, run.wake_at) == (State.CANCELLED, attempt.fence, None)
        assert run.finished_at is not None
        assert await settled(store, attempt, outcome) is not Settled.ACCEPTED
        assert await settled(store, attempt, Succeeded()) is not Settled.ACCEPTED
        assert await state_of(store, attempt.run_id) is State.CANCELLED
        assert not await claimed(store, worker)
        assert (await store.views.figures()).dead_letters == 0

    async def test_a_flagged_run_that_succeeded_stays_a_success(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await store.work.steer(attempt.run_id, Cancel())
        assert await settled(store, attempt, Succeeded(result=b"1")) is Settled.ACCEPTED
        run = await seen(store, attempt.run_id)
        assert (run.state, run.result) == (State.SUCCEEDED, b"1")

    async def test_every_hand_over_has_a_greater_fence(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, make.run())
        fences = []
        for outcome in (AT_ONCE, Lost(), HandedBack(), Lost(), Snoozed(delay=NOTHING), Succeeded()):
            attempt = await claimed_one(store, worker)
            fences.append(attempt.fence)
            await settled(store, attempt, outcome)
        assert all(earlier < later for earlier, later in pairwise(fences))
