"""Suspects: runs that were lost together with others, twice in a row, wait apart from all others."""

from datetime import timedelta

import pytest

from mainspring.domain.ids import DEFAULT_LANE, Lane, SessionId
from mainspring.domain.outcome import Failed, HandedBack, Lost, Outcome, Settled, Snoozed, Succeeded
from mainspring.domain.run import Attempt, State
from mainspring.domain.suspects import EXPIRED, WAITS, waiting_lane
from mainspring.ports.work import Cancel, Edit, Hold, Release
from mainspring.testing.contracts.base import (
    DEFAULT_LANES,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    claimed_one,
    seen,
    settled,
    state_of,
)
from mainspring.testing.factories import Factory, a_task

SUSPECTS = [waiting_lane(DEFAULT_LANE, suspect=True)]
NOTHING = timedelta(0)
SHARED = Lost(shared=EXPIRED)


async def suspected(store: Store, by: SessionId, make: Factory) -> Attempt:
    """A run that has become a suspect, and the attempt by which it did."""
    await added(store, make.run(handler="report", payload=b"7"))
    await settled(store, await claimed_one(store, by), SHARED)
    attempt = await claimed_one(store, by)
    assert await settled(store, attempt, SHARED) is Settled.ACCEPTED
    return attempt


class SuspectsContract(StoreContract):
    """Of `Work`, `Sessions` and `Views`, what keeps suspects away from others."""

    async def test_only_whoever_asks_for_suspects_is_handed_one(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        lost = await suspected(store, worker, make)
        assert not await claimed(store, worker)
        (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
        assert (attempt.run_id, attempt.fence) == (lost.run_id, lost.fence + 1)
        assert attempt.suspect
        assert attempt.task == lost.task
        assert list(await store.sessions.held(worker, 10)) == [attempt]

    async def test_a_suspect_shows_that_it_is_one_and_why_it_waits(self, store: Store, make: Factory) -> None:
        lost = await suspected(store, await a_worker(store), make)
        run = await seen(store, lost.run_id)
        assert (run.state, run.suspect, run.losses, run.reason) == (State.WAITING, True, 0, WAITS)
        assert run.task == lost.task
        record = await store.views.job(lost.job_id)
        assert record is not None
        assert record.job.task == lost.task

    async def test_what_waits_beside_suspects_is_claimed_as_ever(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await suspected(store, worker, make)
        innocent = make.run()
        await added(store, innocent)
        attempt = await claimed_one(store, worker)
        assert (attempt.run_id, attempt.suspect) == (innocent.id, False)

    async def test_the_wait_for_suspects_is_told_apart(self, store: Store, make: Factory) -> None:
        await suspected(store, await a_worker(store), make)
        assert await store.work.next_wake([*DEFAULT_LANES, *SUSPECTS]) == {SUSPECTS[0]: NOTHING}

    async def test_a_suspect_that_is_handed_back_stays_one(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await suspected(store, worker, make)
        (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
        await settled(store, attempt, HandedBack())
        assert not await claimed(store, worker)
        (again,) = await claimed(store, worker, lanes=SUSPECTS)
        assert again.suspect

    @pytest.mark.parametrize("outcome", [Failed(error="busy", retry_after=NOTHING), Snoozed(delay=NOTHING)])
    async def test_a_suspect_that_ran_and_killed_nobody_is_cleared(
        self, store: Store, make: Factory, outcome: Outcome
    ) -> None:
        worker = await a_worker(store)
        await suspected(store, worker, make)
        (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
        await settled(store, attempt, outcome)
        assert not await claimed(store, worker, lanes=SUSPECTS)
        assert not (await claimed_one(store, worker)).suspect

    async def test_a_suspect_that_is_lost_alone_three_times_dies(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        lost = await suspected(store, worker, make)
        for _ in range(3):
            (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
            await settled(store, attempt, Lost())
        run = await seen(store, lost.run_id)
        assert (run.state, run.losses, run.reason, run.suspect) == (State.DEAD, 3, "lost too often", True)
        assert run.task == lost.task

    async def test_the_late_result_of_a_suspects_last_holder_counts(self, store: Store, make: Factory) -> None:
        lost = await suspected(store, await a_worker(store), make)
        assert await settled(store, lost, Succeeded()) is Settled.ACCEPTED
        assert await state_of(store, lost.run_id) is State.SUCCEEDED

    async def test_suspects_are_held_released_and_cancelled_like_others(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        lost = await suspected(store, worker, make)
        await store.work.steer(lost.run_id, Hold())
        assert not await claimed(store, worker, lanes=SUSPECTS)
        await store.work.steer(lost.run_id, Release())
        (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
        await settled(store, attempt, HandedBack())
        await store.work.steer(lost.run_id, Cancel())
        assert await state_of(store, lost.run_id) is State.CANCELLED

    async def test_an_edit_clears_no_suspect_and_may_move_it(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        lost = await suspected(store, worker, make)
        other = Lane("other")
        await store.work.steer(lost.run_id, Edit(task=a_task(lane=other)))
        assert await store.views.suspects() == 1
        assert not await claimed(store, worker, lanes=[DEFAULT_LANE, other, *SUSPECTS])
        (attempt,) = await claimed(store, worker, lanes=[waiting_lane(other, suspect=True)])
        assert attempt.task == a_task(lane=other)

    async def test_a_suspect_counts_where_it_belongs(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await suspected(store, worker, make)
        (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
        (tally,) = (await store.views.figures()).tallies
        assert (tally.lane, tally.added, tally.started, tally.lost) == (DEFAULT_LANE, 1, 3, 2)
        assert (tally.live, tally.running) == (1, 1)
        await settled(store, attempt, Succeeded())
        (tally,) = (await store.views.figures()).tallies
        assert (tally.lane, tally.live, tally.running, tally.ended) == (DEFAULT_LANE, 0, 0, {State.SUCCEEDED: 1})

    async def test_suspects_that_wait_are_counted_apart_and_among_what_is_due(
        self, store: Store, make: Factory
    ) -> None:
        worker = await a_worker(store)
        assert await store.views.suspects() == 0
        lost = await suspected(store, worker, make)
        assert (await store.views.suspects(), await store.views.due()) == (1, 1)
        (attempt,) = await claimed(store, worker, lanes=SUSPECTS)
        assert attempt.run_id == lost.run_id
        assert (await store.views.suspects(), await store.views.due()) == (0, 0)

    async def test_a_session_is_said_to_have_held_what_it_held_at_its_end(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(3))
        attempts = await claimed(store, worker)
        await settled(store, attempts[0], Succeeded())
        await store.sessions.close(worker)
        for attempt in attempts[1:]:
            assert await store.sessions.bury(10) == {worker: 2}
            await settled(store, attempt, SHARED)
        assert not await store.sessions.bury(10)

    async def test_what_was_rescued_before_its_end_was_held_at_its_end(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(3))
        first, *_ = await claimed(store, worker)
        await settled(store, first, SHARED)
        await store.sessions.close(worker, rescued=1)
        assert await store.sessions.bury(10) == {worker: 3}
