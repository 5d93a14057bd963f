"""The `Tickets` port: due runs are taken for publication once, and started by what was published."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from mainspring.domain.ids import DEFAULT_LANE, Fence, Lane, SessionId
from mainspring.domain.outcome import Failed, HandedBack, Lost, Settled, Succeeded
from mainspring.domain.run import Attempt, Label, State
from mainspring.domain.ticket import Ticket
from mainspring.errors import SessionLost
from mainspring.ports.tickets import GRACE, Tickets
from mainspring.ports.work import Cancel, Edit, Hold, Release
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
    past,
    seen,
    settled,
    state_of,
    whole,
)
from mainspring.testing.factories import Factory

LEFT, RIGHT = Lane("left"), Lane("right")
NOTHING = timedelta(0)


class TicketingStore(Store, Protocol):
    """A store that works with a broker."""

    @property
    def tickets(self) -> Tickets: ...


async def taken(
    store: TicketingStore, limit: int = 100, lanes: Sequence[Lane] = DEFAULT_LANES, grace: timedelta = FAR
) -> Sequence[Ticket]:
    """Tickets of runs that claims pass over for longer than the test lasts, unless said otherwise."""
    return await store.tickets.take(lanes, limit, grace)


async def taken_one(store: TicketingStore, grace: timedelta = FAR) -> Ticket:
    """The ticket of the only run that is due."""
    (ticket,) = await taken(store, grace=grace)
    return ticket


async def started(store: TicketingStore, by: SessionId, ticket: Ticket) -> Attempt | None:
    """What one ticket is worth."""
    (attempt,) = await store.tickets.start(by, [ticket])
    return attempt


class TakingContract(StoreContract):
    """What is asked of `take`."""

    async def test_a_ticket_says_what_a_broker_needs_to_know(self, store: TicketingStore, make: Factory) -> None:
        new = make.run(due=await past(store), priority=70)
        await added(store, new)
        run = await seen(store, new.id)
        ticket = await taken_one(store)
        assert (ticket.run_id, ticket.fence, ticket.wake_at) == (run.id, run.fence, run.due_at)
        assert (ticket.lane, ticket.priority) == (DEFAULT_LANE, 70)

    async def test_a_run_whose_ticket_is_out_still_waits(self, store: TicketingStore, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        before = await seen(store, new.id)
        await taken_one(store, grace=GRACE)
        after = await seen(store, new.id)
        assert replace(after, wake_at=None) == replace(before, wake_at=None)
        assert after.label(await store.views.now()) is Label.READY
        assert await store.views.due() == 1

    async def test_claims_pass_over_it_until_the_grace_has_ended_and_then_find_it(
        self, store: TicketingStore, make: Factory, time: Time
    ) -> None:
        worker = await a_worker(store)
        new = make.run()
        await added(store, new)
        await taken_one(store, grace=FAR)
        claim = await store.work.claim(worker, DEFAULT_LANES, 1)
        assert not claim.attempts
        assert claim.next_in is not None
        assert NOTHING < claim.next_in <= FAR
        await store.work.steer(new.id, Edit(due=NOTHING))
        await taken_one(store, grace=SHORT)
        await time.pass_(LONGER)
        assert (await claimed_one(store, worker)).run_id == new.id

    async def test_no_second_ticket_is_given_out_under_one_fence_even_when_the_grace_has_ended(
        self, store: TicketingStore, make: Factory, time: Time
    ) -> None:
        await added(store, make.run())
        await taken_one(store, grace=SHORT)
        assert not await taken(store)
        await time.pass_(LONGER)
        assert not await taken(store)

    async def test_a_run_that_waits_again_gets_another_ticket(
        self, store: TicketingStore, make: Factory, time: Time
    ) -> None:
        worker = await a_worker(store)
        await added(store, make.run())
        fences: list[Fence] = []
        for outcome in (Failed(error="busy", retry_after=NOTHING), Lost(), HandedBack()):
            ticket = await taken_one(store)
            attempt = await started(store, worker, ticket)
            assert attempt is not None
            await settled(store, attempt, outcome)
            await time.pass_(SHORT)
            fences.append(ticket.fence)
        fences.append((await taken_one(store)).fence)
        assert fences == sorted(set(fences))

    @pytest.mark.parametrize("orders", [[Edit(name="other")], [Hold(), Release()]], ids=["edited", "held"])
    async def test_an_order_makes_the_ticket_worthless_and_room_for_another(
        self, store: TicketingStore, make: Factory, time: Time, orders: Sequence[Edit | Hold | Release]
    ) -> None:
        worker = await a_worker(store)
        new = make.run()
        await added(store, new)
        ticket = await taken_one(store)
        await time.pass_(SHORT)
        for order in orders:
            await store.work.steer(new.id, order)
        assert await started(store, worker, ticket) is None
        again = await taken_one(store)
        assert again.fence > ticket.fence
        assert await started(store, worker, again) is not None

    async def test_only_due_runs_of_the_lanes_asked_for_are_taken(
        self, store: TicketingStore, make: Factory, time: Time
    ) -> None:
        soon, held = make.run(due=SHORT), make.run()
        await added(store, soon, held, make.run(due=FAR), make.run(lane=LEFT))
        await store.work.steer(held.id, Hold())
        assert not await taken(store, lanes=[])
        await time.pass_(LONGER)
        assert [ticket.run_id for ticket in await taken(store)] == [soon.id]

    async def test_what_runs_or_has_ended_is_not_taken(self, store: TicketingStore, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(2))
        running, ending = await claimed(store, worker)
        await settled(store, ending, Succeeded())
        assert not await taken(store)
        assert await state_of(store, running.run_id) is State.RUNNING

    async def test_the_best_are_taken_first_in_each_lane_no_more_than_the_limit(
        self, store: TicketingStore, make: Factory
    ) -> None:
        now = await past(store)
        runs = [
            make.run(due=now - timedelta(seconds=number % 7), priority=number % 5, lane=lane)
            for number in range(20)
            for lane in (LEFT, RIGHT)
        ]
        await added(store, *runs)
        for lane in (LEFT, RIGHT):
            best = sorted((run for run in runs if run.task.lane == lane), key=lambda run: (-run.task.priority, run.due))
            tickets = [ticket for limit in (7, 5, 100) for ticket in await taken(store, limit, [lane])]
            assert [(ticket.priority, ticket.wake_at) for ticket in tickets] == [
                (run.task.priority, run.due) for run in best
            ]

    async def test_several_lanes_are_served_with_one_call(self, store: TicketingStore, make: Factory) -> None:
        await added(store, *make.runs(3, lane=LEFT), *make.runs(3, lane=RIGHT))
        tickets = await taken(store, lanes=[LEFT, RIGHT])
        assert sorted(ticket.lane for ticket in tickets) == [LEFT] * 3 + [RIGHT] * 3

    async def test_two_that_take_at_once_never_share_a_run(
        self, store: TicketingStore, second_store: TicketingStore, make: Factory
    ) -> None:
        runs = make.runs(60)
        await added(store, *runs)
        hands = await asyncio.gather(*(taken(handle, 11) for handle in [store, second_store] * 4))
        tickets = [ticket.run_id for each in hands for ticket in each]
        assert len(tickets) == len(set(tickets))
        # A store may pass over what another has locked, but then it must still be there.
        tickets += [ticket.run_id for ticket in await taken(store)]
        assert sorted(tickets) == sorted(run.id for run in runs)


class StartingContract(StoreContract):
    """What is asked of `start`."""

    async def test_the_current_ticket_hands_its_run_over_as_a_claim_does(
        self, store: TicketingStore, make: Factory
    ) -> None:
        worker = await a_worker(store, "worker-7")
        new = make.run(owner="o", project="p")
        await added(store, new)
        ticket = await taken_one(store)
        attempt = await started(store, worker, ticket)
        assert attempt is not None
        assert (attempt.run_id, attempt.job_id, attempt.task) == (new.id, new.job_id, new.task)
        assert (attempt.session, attempt.owner, attempt.project, attempt.worker) == (worker, "o", "p", "worker-7")
        assert (attempt.attempt, attempt.failures, attempt.losses) == (1, 0, 0)
        assert attempt.fence > ticket.fence
        run = await seen(store, new.id)
        assert (run.state, run.fence, run.started_at) == (State.RUNNING, attempt.fence, attempt.started_at)
        assert [held.run_id for held in await store.sessions.held(worker, 10)] == [new.id]
        assert await settled(store, attempt, Succeeded()) is Settled.ACCEPTED

    async def test_a_ticket_starts_its_run_also_when_its_grace_has_ended(
        self, store: TicketingStore, make: Factory, time: Time
    ) -> None:
        await added(store, make.run())
        ticket = await taken_one(store, grace=SHORT)
        await time.pass_(LONGER)
        assert await started(store, await a_worker(store), ticket) is not None

    async def test_a_ticket_is_worth_nothing_the_second_time(self, store: TicketingStore, make: Factory) -> None:
        one, two = await a_worker(store), await a_worker(store, "worker-2")
        await added(store, make.run())
        ticket = await taken_one(store)
        attempt = await started(store, one, ticket)
        assert attempt is not None
        assert await started(store, one, ticket) is None
        assert await started(store, two, ticket) is None
        await settled(store, attempt, Failed(error="busy", retry_after=FAR))
        assert await started(store, two, ticket) is None, "it would start inside its backoff"

    async def test_a_ticket_is_worth_nothing_once_a_claim_was_faster(
        self, store: TicketingStore, make: Factory, time: Time
    ) -> None:
        worker = await a_worker(store)
        await added(store, make.run())
        ticket = await taken_one(store, grace=SHORT)
        await time.pass_(LONGER)
        attempt = await claimed_one(store, worker)
        assert await started(store, worker, ticket) is None
        await settled(store, attempt, Lost())
        assert await started(store, worker, ticket) is None

    async def test_a_cancelled_run_is_not_started(self, store: TicketingStore, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        ticket = await taken_one(store)
        await store.work.steer(new.id, Cancel())
        assert await started(store, await a_worker(store), ticket) is None
        assert await state_of(store, new.id) is State.CANCELLED

    async def test_a_held_run_is_not_started(self, store: TicketingStore, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        ticket = await taken_one(store)
        await store.work.steer(new.id, Hold())
        assert await started(store, await a_worker(store), ticket) is None
        assert await state_of(store, new.id) is State.WAITING

    async def test_a_ticket_with_another_fence_or_of_an_unknown_run_is_worth_nothing(
        self, store: TicketingStore, make: Factory
    ) -> None:
        worker = await a_worker(store)
        await added(store, make.run())
        ticket = await taken_one(store)
        for wrong in (
            replace(ticket, fence=Fence(ticket.fence + 1)),
            replace(ticket, fence=Fence(ticket.fence - 1)),
            replace(ticket, run_id=make.run().id),
        ):
            assert await started(store, worker, wrong) is None
        assert await started(store, worker, ticket) is not None

    async def test_a_ticket_that_was_never_given_out_is_worth_nothing(
        self, store: TicketingStore, make: Factory
    ) -> None:
        worker = await a_worker(store)
        later, now = make.run(due=FAR), make.run()
        await added(store, later, now)
        for new in (later, now):
            run = await seen(store, new.id)
            forged = Ticket(
                run_id=run.id, fence=run.fence, lane=DEFAULT_LANE, priority=100, wake_at=run.due_at - 2 * FAR
            )
            assert await started(store, worker, forged) is None

    async def test_a_ticket_that_lies_about_the_time_starts_its_run_all_the_same(
        self, store: TicketingStore, make: Factory
    ) -> None:
        await added(store, make.run())
        ticket = await taken_one(store)
        attempt = await started(store, await a_worker(store), replace(ticket, wake_at=ticket.wake_at + FAR))
        assert attempt is not None
        await store.upkeep.fold(100)
        figures = await store.views.figures()
        assert sum((tally.waited for tally in figures.tallies), NOTHING) == NOTHING

    async def test_each_of_many_tickets_is_answered_in_its_place(self, store: TicketingStore, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, *make.runs(3))
        one, two, three = await taken(store)
        unknown = replace(two, run_id=make.run().id)
        answers = await store.tickets.start(worker, [three, unknown, one, one])
        assert [answer and answer.run_id for answer in answers] == [three.run_id, None, one.run_id, None]
        assert await state_of(store, two.run_id) is State.WAITING
        assert not await store.tickets.start(worker, [])

    async def test_two_that_start_at_once_never_share_a_run(
        self, store: TicketingStore, second_store: TicketingStore, make: Factory
    ) -> None:
        await added(store, *make.runs(40))
        tickets = [*await taken(store)]
        workers = [await a_worker(store, f"worker-{number}") for number in range(6)]
        handles = [store, second_store] * 3
        batches = [tickets[number:] + tickets[:number] for number in range(6)]
        answers = await asyncio.gather(
            *(
                handle.tickets.start(worker, batch)
                for handle, worker, batch in zip(handles, workers, batches, strict=True)
            )
        )
        won = [attempt.run_id for each in answers for attempt in each if attempt is not None]
        assert sorted(won) == sorted(ticket.run_id for ticket in tickets)

    async def test_what_was_started_without_an_answer_shows_in_the_heartbeat(
        self, store: TicketingStore, make: Factory
    ) -> None:
        worker = await a_worker(store)
        await added(store, make.run())
        ticket = await taken_one(store)
        await started(store, worker, ticket)
        (stray,) = await store.sessions.held(worker, 10)
        assert (stray.run_id, stray.session) == (ticket.run_id, worker)
        assert await settled(store, stray, Succeeded()) is Settled.ACCEPTED

    async def test_a_session_that_has_ended_starts_nothing(self, store: TicketingStore, make: Factory) -> None:
        worker = await a_worker(store)
        await added(store, make.run())
        ticket = await taken_one(store)
        await store.sessions.close(worker)
        with pytest.raises(SessionLost):
            await started(store, worker, ticket)
        assert await state_of(store, ticket.run_id) is State.WAITING

    @pytest.mark.parametrize("due", [NOTHING, datetime.min.replace(tzinfo=UTC)])
    async def test_how_long_a_run_has_waited_counts_from_when_it_could_start_and_was_there(
        self, store: TicketingStore, make: Factory, time: Time, due: datetime | timedelta
    ) -> None:
        made = whole(await store.views.now())
        await added(store, make.run(due=due))
        await time.pass_(LONGER)
        attempt = await started(store, await a_worker(store), await taken_one(store))
        assert attempt is not None
        await store.upkeep.fold(100)
        figures = await store.views.figures()
        waited = sum((tally.waited for tally in figures.tallies), NOTHING)
        assert LONGER <= waited <= attempt.started_at - made


class TicketsContract(TakingContract, StartingContract):
    """All that is asked of `Tickets`."""
