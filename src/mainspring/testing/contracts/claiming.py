"""Handing runs over: never to two, never early, the best first."""

import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.ids import DEFAULT_LANE, Lane
from mainspring.domain.outcome import Failed, HandedBack, Lost, Succeeded
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import State
from mainspring.errors import SessionLost
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
    held,
    past,
    seen,
    settled,
    state_of,
)
from mainspring.testing.factories import Factory

LEFT, RIGHT = Lane("left"), Lane("right")
NOTHING = timedelta(0)


class ClaimingContract(StoreContract):
    """`Work.claim` and `Work.next_wake`."""

    async def test_a_claimed_run_is_complete_and_running(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store, "worker-7")
        new = make.run(
            owner="o", project="p", timeout=timedelta(seconds=3), retry=RetryPolicy(max_retries=9, jitter=0.5)
        )
        attempt = await held(store, worker, new)
        assert (attempt.run_id, attempt.job_id, attempt.task) == (new.id, new.job_id, new.task)
        assert (attempt.session, attempt.owner, attempt.project) == (worker, "o", "p")
        assert (attempt.attempt, attempt.failures, attempt.losses) == (1, 0, 0)
        assert (attempt.log, attempt.cancelling) == (b"", False)
        run = await seen(store, new.id)
        assert (run.state, run.worker, run.attempt) == (State.RUNNING, "worker-7", 1)
        assert (run.fence, run.started_at, run.due_at) == (attempt.fence, attempt.started_at, attempt.due_at)

    @pytest.mark.parametrize("retry", [RetryPolicy(), RetryPolicy(max_retries=9)])
    async def test_a_run_carries_its_trace_from_hand_to_hand(
        self, store: Store, make: Factory, retry: RetryPolicy
    ) -> None:
        worker = await a_worker(store)
        new = make.run(trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", retry=retry)
        first = await held(store, worker, new)
        await settled(store, first, HandedBack())
        second = await claimed_one(store, worker)
        assert (first.task, second.task) == (new.task, new.task)
        await settled(store, second, Succeeded())
        assert (await seen(store, new.id)).task == new.task

    async def test_a_claimed_run_is_not_claimed_again(self, store: Store, make: Factory) -> None:
        await held(store, await a_worker(store), make.run())
        assert not await claimed(store, await a_worker(store, "worker-2"))

    async def test_concurrent_claims_never_share_a_run(self, store: Store, second_store: Store, make: Factory) -> None:
        runs = make.runs(60)
        await added(store, *runs)
        workers = [await a_worker(store, f"worker-{number}") for number in range(12)]
        handles = [store, second_store] * 6
        hands = await asyncio.gather(
            *(claimed(handle, worker, 7) for handle, worker in zip(handles, workers, strict=True))
        )
        taken = [attempt.run_id for attempts in hands for attempt in attempts]
        assert len(taken) == len(set(taken))
        # A store may pass over what another claimer has locked, but then it must still be there.
        taken += [attempt.run_id for attempt in await claimed(store, workers[0])]
        assert sorted(taken) == sorted(run.id for run in runs)

    async def test_no_more_than_the_limit_is_handed_over(self, store: Store, make: Factory) -> None:
        await added(store, *make.runs(5))
        worker = await a_worker(store)
        assert [len(await claimed(store, worker, 2)) for _ in range(4)] == [2, 2, 1, 0]

    async def test_a_full_claim_asks_to_be_repeated_at_once(self, store: Store, make: Factory) -> None:
        await added(store, *make.runs(2))
        assert (await store.work.claim(await a_worker(store), DEFAULT_LANES, 2)).next_in == NOTHING

    async def test_nothing_is_due_when_nothing_waits(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        assert (await store.work.claim(worker, DEFAULT_LANES, 2)).next_in is None
        await added(store, make.run(), make.run(due=FAR, lane=LEFT))
        claim = await store.work.claim(worker, DEFAULT_LANES, 2)
        assert len(claim.attempts) == 1
        assert claim.next_in is None

    async def test_future_runs_are_not_claimed_but_announced(self, store: Store, make: Factory) -> None:
        await added(store, make.run(due=2 * FAR), make.run(due=FAR))
        claim = await store.work.claim(await a_worker(store), DEFAULT_LANES, 10)
        assert not claim.attempts
        assert claim.next_in is not None
        assert NOTHING < claim.next_in <= FAR

    async def test_the_next_run_of_all_lanes_is_announced(self, store: Store, make: Factory) -> None:
        await added(store, make.run(due=2 * FAR, lane=LEFT), make.run(due=FAR, lane=RIGHT))
        worker = await a_worker(store)
        for lanes in 2 * [[LEFT, RIGHT]] + 2 * [[RIGHT, LEFT]]:  # each claim may begin with another lane
            claim = await store.work.claim(worker, lanes, 10)
            assert claim.next_in is not None
            assert NOTHING < claim.next_in <= FAR

    async def test_a_run_is_claimed_once_its_time_has_come(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, make.run(due=SHORT))
        await time.pass_(LONGER)
        attempt = await claimed_one(store, await a_worker(store))
        assert attempt.started_at >= attempt.due_at

    async def test_a_higher_priority_goes_first_and_within_it_the_longer_wait(
        self, store: Store, make: Factory
    ) -> None:
        now = await past(store)
        young, old, urgent, later = (
            make.run(due=now - timedelta(seconds=1), priority=50),
            make.run(due=now - timedelta(seconds=9), priority=50),
            make.run(due=now, priority=51),
            make.run(due=now - timedelta(seconds=99), priority=0),
        )
        await added(store, young, old, urgent, later)
        worker = await a_worker(store)
        order = [attempt.run_id for _ in range(4) for attempt in await claimed(store, worker, 1)]
        assert order == [urgent.id, old.id, young.id, later.id]

    async def test_one_claim_hands_over_in_the_same_order(self, store: Store, make: Factory) -> None:
        now = await past(store)
        runs = [make.run(due=now - timedelta(seconds=number % 7), priority=number % 5) for number in range(35)]
        await added(store, *runs)
        best = sorted(runs, key=lambda run: (-run.task.priority, run.due))
        attempts = await claimed(store, await a_worker(store), 20)
        assert [attempt.run_id for attempt in attempts] == [run.id for run in best[:20]]

    async def test_equal_runs_go_in_the_order_of_their_wake_times(self, store: Store, make: Factory) -> None:
        now = await past(store)
        runs = [make.run(due=now - timedelta(milliseconds=number * 37 % 10)) for number in range(10)]
        await added(store, *runs)
        worker = await a_worker(store)
        order = [attempt.due_at for _ in range(10) for attempt in await claimed(store, worker, 1)]
        assert order == sorted(order)

    async def test_only_the_lanes_asked_for_are_claimed(self, store: Store, make: Factory) -> None:
        left, right = make.run(lane=LEFT), make.run(lane=RIGHT)
        await added(store, left, right)
        worker = await a_worker(store)
        assert [attempt.run_id for attempt in await claimed(store, worker, lanes=[RIGHT])] == [right.id]
        assert not await claimed(store, worker, lanes=[DEFAULT_LANE])
        assert not await claimed(store, worker, lanes=[])

    @pytest.mark.parametrize("limit", [2, 5, 8])
    async def test_lanes_take_turns_whatever_their_priorities(self, store: Store, make: Factory, limit: int) -> None:
        await added(store, *make.runs(10, lane=LEFT, priority=100), *make.runs(10, lane=RIGHT, priority=1))
        attempts = await claimed(store, await a_worker(store), limit, [LEFT, RIGHT])
        left = sum(attempt.task.lane == LEFT for attempt in attempts)
        assert len(attempts) == limit
        assert abs(left - (limit - left)) <= 1

    async def test_a_lane_with_little_leaves_its_turns_to_the_other(self, store: Store, make: Factory) -> None:
        await added(store, make.run(lane=LEFT), *make.runs(10, lane=RIGHT))
        assert len(await claimed(store, await a_worker(store), 8, [LEFT, RIGHT])) == 8

    async def test_priorities_are_exact_within_each_of_several_lanes(self, store: Store, make: Factory) -> None:
        runs = [make.run(lane=lane, priority=number) for lane in (LEFT, RIGHT) for number in (3, 9, 1, 7)]
        await added(store, *runs)
        attempts = await claimed(store, await a_worker(store), 4, [LEFT, RIGHT])
        for lane in (LEFT, RIGHT):
            assert [attempt.task.priority for attempt in attempts if attempt.task.lane == lane] == [9, 7]

    async def test_an_ended_session_claims_nothing(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        new = make.run()
        await added(store, new)
        await store.sessions.close(worker)
        with pytest.raises(SessionLost):
            await store.work.claim(worker, DEFAULT_LANES, 1)
        assert await state_of(store, new.id) is State.WAITING

    async def test_a_buried_session_claims_nothing(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store, ttl=SHORT)
        await added(store, make.run())
        await time.pass_(LONGER)
        await store.sessions.bury(10)
        with pytest.raises(SessionLost):
            await store.work.claim(worker, DEFAULT_LANES, 1)

    async def test_a_retry_waits_for_its_delay(self, store: Store, make: Factory, time: Time) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        await settled(store, attempt, Failed(error="busy", retry_after=FAR))
        claim = await store.work.claim(worker, DEFAULT_LANES, 1)
        assert not claim.attempts
        assert claim.next_in is not None
        assert NOTHING < claim.next_in <= FAR
        second = await held(store, worker, make.run())
        await settled(store, second, Failed(error="busy", retry_after=SHORT))
        await time.pass_(LONGER)
        assert (await claimed_one(store, worker)).run_id == second.run_id

    async def test_what_earlier_attempts_left_behind_is_handed_on(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        fences = [attempt.fence]
        for outcome in (Failed(error="busy", retry_after=NOTHING), Lost(), HandedBack()):
            await settled(store, attempt, outcome)
            attempt = await claimed_one(store, worker)
            fences.append(attempt.fence)
        assert (attempt.attempt, attempt.failures, attempt.losses) == (3, 1, 1)
        assert attempt.log.count(b'"outcome"') == 2
        assert fences == sorted(set(fences))

    async def test_next_wake_names_each_lane_that_waits(self, store: Store, make: Factory) -> None:
        await added(store, make.run(lane=LEFT, due=FAR), make.run(lane=LEFT, due=2 * FAR), make.run(lane=RIGHT))
        waits = await store.work.next_wake([LEFT, RIGHT, DEFAULT_LANE])
        assert set(waits) == {LEFT, RIGHT}
        assert waits[RIGHT] == NOTHING
        assert NOTHING < waits[LEFT] <= FAR

    async def test_next_wake_passes_over_what_runs_and_what_has_ended(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        attempt = await held(store, worker, make.run())
        assert not await store.work.next_wake(DEFAULT_LANES)
        await settled(store, attempt, Succeeded())
        assert not await store.work.next_wake(DEFAULT_LANES)
