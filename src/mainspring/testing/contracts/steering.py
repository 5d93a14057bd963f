"""Orders to single runs, in each of their states; dead letters and hidden jobs."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.domain.ids import Lane, RunId
from mainspring.domain.outcome import Cancelled, Failed, Lost, Outcome, Settled, Succeeded
from mainspring.domain.run import State
from mainspring.ports.views import Cursor, DeadFilter, JobFilter, RunFilter
from mainspring.ports.work import Cancel, Edit, Effect, Hold, Order, Release, Steered
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import (
    DEFAULT_LANES,
    FAR,
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
    seen,
    settled,
    state_of,
)
from mainspring.testing.factories import Factory, a_task

ORDERS = [Cancel(), Hold(), Release(), Edit(name="new")]
ENDINGS = [Succeeded(), Failed(error="broken", permanent=True), Cancelled()]


class SteeringContract(StoreContract):
    """`Work.steer`, `Work.discard` and `Work.hide`."""

    @pytest.mark.parametrize("order", ORDERS)
    async def test_an_unknown_run_is_missing(self, store: Store, make: Factory, order: Order) -> None:
        assert await store.work.steer(RunId(make.id()), order) == Steered(effect=Effect.MISSING)

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize("outcome", ENDINGS)
    async def test_an_ended_run_refuses_every_order(
        self, store: Store, make: Factory, outcome: Outcome, order: Order
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, outcome)
        before = await seen(store, attempt.run_id)
        assert await store.work.steer(attempt.run_id, order) == Steered(effect=Effect.REFUSED, state=before.state)
        assert await seen(store, attempt.run_id) == before

    @pytest.mark.parametrize("order", [Hold(), Release(), Edit(name="new")])
    async def test_a_running_run_refuses_all_but_a_cancel(self, store: Store, make: Factory, order: Order) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        before = await seen(store, attempt.run_id)
        assert await store.work.steer(attempt.run_id, order) == Steered(effect=Effect.REFUSED, state=State.RUNNING)
        assert await seen(store, attempt.run_id) == before

    async def test_a_waiting_run_is_cancelled_at_once(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        before = await seen(store, new.id)
        steered = await store.work.steer(new.id, Cancel(reason="not needed"))
        assert steered == Steered(effect=Effect.DONE, state=State.CANCELLED)
        run = await seen(store, new.id)
        assert (run.state, run.reason, run.wake_at) == (State.CANCELLED, "not needed", None)
        assert run.fence > before.fence
        assert run.finished_at is not None
        assert not await claimed(store, await a_worker(store))

    async def test_a_repeated_cancel_has_no_second_effect(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Cancel())
        before = await seen(store, new.id)
        assert (await store.work.steer(new.id, Cancel(reason="again"))).state is State.CANCELLED
        assert await seen(store, new.id) == before

    async def test_a_held_run_can_be_cancelled(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Hold())
        assert (await store.work.steer(new.id, Cancel())).effect is Effect.DONE
        assert (await store.work.steer(new.id, Release())).effect is Effect.REFUSED
        assert await state_of(store, new.id) is State.CANCELLED

    async def test_the_cancel_of_a_running_run_is_a_flag_and_leaves_its_fence(
        self, store: Store, make: Factory
    ) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        for _ in range(2):
            steered = await store.work.steer(attempt.run_id, Cancel())
            assert steered == Steered(effect=Effect.FLAGGED, state=State.RUNNING)
        run = await seen(store, attempt.run_id)
        assert (run.state, run.cancelling, run.fence) == (State.RUNNING, True, attempt.fence)

    async def test_a_late_result_does_not_undo_the_cancel_of_a_rescued_run(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, Lost())
        await store.work.steer(attempt.run_id, Cancel())
        assert await settled(store, attempt, Succeeded()) is Settled.STALE
        assert await state_of(store, attempt.run_id) is State.CANCELLED

    async def test_a_held_run_is_neither_claimed_nor_announced(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        before = await seen(store, new.id)
        assert await store.work.steer(new.id, Hold()) == Steered(effect=Effect.DONE, state=State.WAITING)
        run = await seen(store, new.id)
        assert run.wake_at is None
        assert run.fence > before.fence
        claim = await store.work.claim(await a_worker(store), DEFAULT_LANES, 1)
        assert (list(claim.attempts), claim.next_in) == ([], None)
        assert not await store.work.next_wake(DEFAULT_LANES)

    async def test_a_repeated_hold_has_no_second_effect(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Hold())
        before = await seen(store, new.id)
        assert await store.work.steer(new.id, Hold()) == Steered(effect=Effect.DONE, state=State.WAITING)
        assert await seen(store, new.id) == before

    async def test_a_released_run_whose_time_has_passed_wakes_now(self, store: Store, make: Factory) -> None:
        new = make.run(due=await past(store, 60))
        await added(store, new)
        await store.work.steer(new.id, Hold())
        before = await seen(store, new.id)
        assert await store.work.steer(new.id, Release()) == Steered(effect=Effect.DONE, state=State.WAITING)
        run = await seen(store, new.id)
        assert run.fence > before.fence
        assert run.wake_at is not None
        assert run.due_at == new.due
        assert (await claimed_one(store, await a_worker(store))).run_id == new.id

    async def test_a_released_run_whose_time_is_to_come_wakes_then(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        far, near = make.run(due=FAR), make.run(due=SHORT)
        await added(store, far, near)
        for run_id in (far.id, near.id):
            await store.work.steer(run_id, Hold())
            await store.work.steer(run_id, Release())
        run = await seen(store, far.id)
        assert run.wake_at == run.due_at
        await time.pass_(LONGER)
        assert (await claimed_one(store, await a_worker(store))).run_id == near.id

    async def test_releasing_a_run_that_is_not_held_changes_nothing(self, store: Store, make: Factory) -> None:
        attempt = await held(store, await a_worker(store), make.run())
        await settled(store, attempt, Failed(error="busy", retry_after=FAR))
        before = await seen(store, attempt.run_id)
        assert await store.work.steer(attempt.run_id, Release()) == Steered(effect=Effect.DONE, state=State.WAITING)
        assert await seen(store, attempt.run_id) == before

    async def test_an_edited_run_executes_the_new_task(self, store: Store, make: Factory) -> None:
        new = make.run(due=FAR, name="old", spec=b"{}")
        await added(store, new)
        before = await seen(store, new.id)
        task = a_task(handler="other", payload=b"[2]", priority=99, timeout=timedelta(seconds=2))
        due = await past(store, 5)
        order = Edit(task=task, due=due, name="new", spec=b'{"description":"x"}')
        assert await store.work.steer(new.id, order) == Steered(effect=Effect.DONE, state=State.WAITING)
        run = await seen(store, new.id)
        assert (run.task, run.due_at, run.name, run.spec) == (task, due, "new", b'{"description":"x"}')
        assert run.fence > before.fence
        assert run.version > before.version
        attempt = await claimed_one(store, await a_worker(store))
        assert (attempt.task, attempt.due_at) == (task, due)

    async def test_an_edit_leaves_what_it_does_not_name(self, store: Store, make: Factory) -> None:
        new = make.run(due=await past(store, 5), name="old", spec=b"{}", payload=b"[1]")
        await added(store, new)
        before = await seen(store, new.id)
        await store.work.steer(new.id, Edit())
        after = await seen(store, new.id)
        assert (after.task, after.due_at, after.wake_at) == (before.task, before.due_at, before.wake_at)
        assert (after.name, after.spec) == ("old", b"{}")

    async def test_an_edit_may_put_a_run_off_by_a_duration(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Edit(due=FAR))
        claim = await store.work.claim(await a_worker(store), DEFAULT_LANES, 1)
        assert not claim.attempts
        assert claim.next_in is not None
        assert timedelta(0) < claim.next_in <= FAR

    async def test_an_edited_lane_is_where_the_run_is_claimed(self, store: Store, make: Factory) -> None:
        new, worker = make.run(), await a_worker(store)
        await added(store, new)
        await store.work.steer(new.id, Edit(task=a_task(lane=Lane("other"))))
        assert not await claimed(store, worker)
        assert len(await claimed(store, worker, lanes=[Lane("other")])) == 1

    async def test_a_held_run_stays_held_when_it_is_edited(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Hold())
        await store.work.steer(new.id, Edit(due=await past(store), name="new"))
        assert (await seen(store, new.id)).wake_at is None
        assert not await claimed(store, await a_worker(store))

    @pytest.mark.parametrize("order", ORDERS)
    async def test_an_order_for_another_version_conflicts(self, store: Store, make: Factory, order: Order) -> None:
        new = make.run(name="first")
        await added(store, new)
        old = (await seen(store, new.id)).version
        for step in (Hold(expected_version=old), Release(), Edit(name="second")):
            assert (await store.work.steer(new.id, step)).effect is Effect.DONE
        before = await seen(store, new.id)
        outdated = replace(order, expected_version=old)
        assert await store.work.steer(new.id, outdated) == Steered(effect=Effect.CONFLICT, state=State.WAITING)
        assert await seen(store, new.id) == before
        current = replace(order, expected_version=before.version)
        assert (await store.work.steer(new.id, current)).effect is Effect.DONE

    async def test_the_cancel_of_a_running_run_for_another_version_conflicts(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        await store.work.steer(new.id, Edit(name="edited"))
        attempt = await claimed_one(store, await a_worker(store))
        before = await seen(store, attempt.run_id)
        outdated, current = (Cancel(expected_version=before.version + shift) for shift in (-1, 0))
        assert await store.work.steer(new.id, outdated) == Steered(effect=Effect.CONFLICT, state=State.RUNNING)
        assert await seen(store, new.id) == before
        assert await store.work.steer(new.id, current) == Steered(effect=Effect.FLAGGED, state=State.RUNNING)

    @pytest.mark.parametrize("order", ORDERS)
    async def test_a_state_that_refuses_an_order_comes_before_its_version(
        self, store: Store, make: Factory, order: Order
    ) -> None:
        run = await dead(store, await a_worker(store), make.run())
        outdated = replace(order, expected_version=run.version + 1)
        assert await store.work.steer(run.id, outdated) == Steered(effect=Effect.REFUSED, state=State.DEAD)

    async def test_of_two_orders_for_the_same_version_one_conflicts(
        self, store: Store, second_store: Store, make: Factory
    ) -> None:
        new = make.run(due=FAR)
        await added(store, new)
        version = (await seen(store, new.id)).version
        orders = (Hold(expected_version=version), Edit(name="edited", expected_version=version))
        answers = await asyncio.gather(store.work.steer(new.id, orders[0]), second_store.work.steer(new.id, orders[1]))
        assert {answer.effect for answer in answers} == {Effect.DONE, Effect.CONFLICT}

    async def test_a_cancel_and_a_claim_at_once_leave_the_run_ended_or_flagged(
        self, store: Store, second_store: Store, make: Factory
    ) -> None:
        worker = await a_worker(store)
        for _ in range(10):
            new = make.run()
            await added(store, new)
            steered, attempts = await asyncio.gather(store.work.steer(new.id, Cancel()), claimed(second_store, worker))
            run = await seen(store, new.id)
            if steered.effect is Effect.DONE:
                assert (list(attempts), run.state) == ([], State.CANCELLED)
            else:
                assert steered.effect is Effect.FLAGGED
                assert (len(attempts), run.state, run.cancelling) == (1, State.RUNNING, True)

    async def test_a_discarded_dead_letter_leaves_the_list_but_not_history(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        first, second = [await dead(store, worker, make.run()) for _ in range(2)]
        assert list(await store.work.discard([first.id])) == [True]
        letters = (await store.views.dead_letters(DeadFilter(), Cursor())).items
        assert [letter.run.id for letter in letters] == [second.id]
        assert await seen(store, first.id) == first
        assert (await store.views.figures()).dead_letters == 1

    async def test_only_dead_letters_can_be_discarded_and_only_once(self, store: Store, make: Factory) -> None:
        died = await dead(store, await a_worker(store), make.run())
        waiting = make.run()
        await added(store, waiting)
        answers = await store.work.discard([waiting.id, died.id, RunId(make.id())])
        assert list(answers) == [False, True, False]
        assert list(await store.work.discard([died.id])) == [False]
        assert await state_of(store, waiting.id) is State.WAITING

    async def test_a_hidden_job_and_its_run_are_in_no_view(self, store: Store, make: Factory) -> None:
        died = await dead(store, await a_worker(store), make.run())
        assert await store.work.hide(died.job_id)
        assert await store.views.job(died.job_id) is None
        assert await store.views.run(died.id) is None
        assert not (await store.views.jobs(JobFilter(), Cursor())).items
        assert not (await store.views.runs(RunFilter(), Cursor())).items
        assert not (await store.views.dead_letters(DeadFilter(), Cursor())).items
        assert (await store.views.figures()).dead_letters == 0

    async def test_a_hidden_job_is_not_added_again(self, store: Store, make: Factory) -> None:
        new, worker = make.run(), await a_worker(store)
        await settled(store, await held(store, worker, new), Succeeded())
        await store.work.hide(new.job_id)
        await store.work.add([new])
        assert not await claimed(store, worker)
        assert await store.views.job(new.job_id) is None

    async def test_what_still_lives_or_never_was_cannot_be_hidden(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        assert not await store.work.hide(new.job_id)
        assert not await store.work.hide(make.id())
        assert await store.views.job(new.job_id) is not None

    async def test_a_job_that_is_being_cancelled_can_be_hidden_at_once(self, store: Store, make: Factory) -> None:
        new, worker = make.run(), await a_worker(store)
        attempt = await held(store, worker, new)
        await store.work.steer(new.id, Cancel())
        assert await store.work.hide(new.job_id)
        for _ in range(2):
            assert await store.views.job(new.job_id) is None
            assert await store.views.run(new.id) is None
            assert not (await store.views.jobs(JobFilter(), Cursor())).items
            assert not (await store.views.runs(RunFilter(), Cursor())).items
            await settled(store, attempt, Succeeded())
