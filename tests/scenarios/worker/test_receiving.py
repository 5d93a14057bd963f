"""Work that comes by way of a broker, and what becomes of it when something on the way fails."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from mainspring.adapters.memory.broker import MemoryBroker
from mainspring.domain.ids import DEFAULT_LANE, Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt, State
from mainspring.domain.ticket import Ticket, written
from mainspring.errors import SessionLost, StoreUnavailable
from mainspring.ports.broker import Delivery, Message
from mainspring.ports.observing import Unobserved
from mainspring.ports.signals import lane_topic
from mainspring.worker.settings import Carrier, WorkerPorts
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import START, leaping

TOPIC = lane_topic(DEFAULT_LANE)


class FakeCarrier(MemoryBroker):
    """Broker and tickets of the bench's store: what is submitted with a ticket is never found by a claim."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.clock)
        self._store = bench.store
        self.asked: list[int] = []
        self.starts: list[Sequence[Ticket]] = []
        self.acknowledged: list[Delivery] = []

    async def send(self, **terms: Any) -> RunId:
        """Submit a run and publish its ticket."""
        run_id = self._store.submit(**terms)
        await self.send_ticket_of(run_id)
        return run_id

    async def send_ticket_of(self, run_id: RunId, *, fence: int | None = None) -> None:
        run = self._store.runs[run_id]
        if run_id in self._store.waiting:
            self._store.waiting.remove(run_id)
        ticket = Ticket(
            run_id=run_id,
            fence=run.fence if fence is None else Fence(fence),
            lane=run.task.lane,
            priority=run.task.priority,
            wake_at=START,
        )
        await self.publish(TOPIC, [Message(key=run_id, body=written(ticket), priority=50, due_at=START)])

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        self.asked.append(limit)
        return await super().receive(topics, limit, wait)

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        assert self.starts, "nothing is acknowledged before the store was asked"
        self.acknowledged += deliveries
        self._store.changed.set()

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        raise NotImplementedError

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        self.starts.append(tickets)
        await self._store._call("start")
        if by not in self._store.alive:
            raise SessionLost("buried")
        answers = [self._start(by, ticket) for ticket in tickets]
        self._store._answer("start")
        return answers

    def _start(self, by: SessionId, ticket: Ticket) -> Attempt | None:
        run = self._store.runs.get(ticket.run_id)
        if run is None or run.fence != ticket.fence or ticket.run_id in self._store.ended:
            return None
        self._store._hand_over(ticket.run_id, by)
        return self._store.runs[ticket.run_id]


class Counting(Unobserved):
    def __init__(self) -> None:
        self.dropped = 0

    def unreadable(self) -> None:
        self.dropped += 1


class CarrierBench(Bench):
    """With a broker."""

    def __init__(self) -> None:
        super().__init__()
        self.carrier = FakeCarrier(self)
        self.observer = Counting()

    def ports(self) -> WorkerPorts:
        carrier = Carrier(broker=self.carrier, tickets=self.carrier)
        return replace(super().ports(), carrier=carrier, observer=self.observer)


@leaping
async def test_a_run_comes_by_its_ticket_and_is_acknowledged_once_the_store_has_answered() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    async with bench.working():
        run_id = await bench.carrier.send()
        await bench.store.until_ended(1)
        await bench.store.until(lambda: len(bench.carrier.acknowledged) == 1)
    assert bench.store.ended[run_id].state is State.SUCCEEDED


@leaping
async def test_tickets_are_received_for_free_slots_only_and_none_while_all_are_taken() -> None:
    bench = CarrierBench()
    gate = asyncio.Event()

    @bench.registry.handler("work")
    async def work() -> None:
        await gate.wait()

    async with bench.working(concurrency=4, prefetch=timedelta(0)):
        for _ in range(10):
            await bench.carrier.send()
        await bench.store.until(lambda: sum(map(len, bench.carrier.starts)) == 4)
        await bench.clock.sleep(timedelta(seconds=30))
        assert sum(map(len, bench.carrier.starts)) == 4
        gate.set()
        await bench.store.until_ended(10)
    assert max(bench.carrier.asked) == 4


@leaping
async def test_a_ticket_that_is_worth_nothing_is_acknowledged_all_the_same() -> None:
    bench = CarrierBench()
    calls = bench.count_calls("work")
    async with bench.working():
        run_id = await bench.carrier.send()
        await bench.store.until_ended(1)
        await bench.carrier.send_ticket_of(run_id, fence=0)
        await bench.store.until(lambda: len(bench.carrier.acknowledged) == 2)
    assert calls == [1]


@leaping
async def test_what_is_no_ticket_is_counted_dropped_and_keeps_nothing_waiting() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    async with bench.working():
        for body in (b"", b"\xff", b"{}", b"[1]"):
            await bench.carrier.publish(TOPIC, [Message(key=UUID(int=7), body=body, priority=100, due_at=START)])
        await bench.carrier.send()
        await bench.store.until_ended(1)
        await bench.store.until(lambda: len(bench.carrier.acknowledged) == 5)
    assert bench.observer.dropped == 4


@leaping
async def test_work_whose_ticket_never_came_is_claimed_after_about_a_second() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    async with bench.working(poll=timedelta(seconds=1)):
        await bench.clock.sleep(timedelta(seconds=10))
        began = bench.clock.monotonic()
        bench.store.submit()
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() - began <= 1.25 + 0.1
    assert not bench.carrier.starts


@leaping
async def test_many_workers_claim_more_rarely_each() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    bench.store.members = 1_000
    async with bench.working(poll=timedelta(seconds=1)):
        await bench.clock.sleep(timedelta(seconds=100))
    assert 8 <= len(bench.store.claims) <= 15


@leaping
async def test_while_the_broker_is_away_work_is_claimed_as_without_one() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    bench.carrier.connection = replace(bench.carrier.connection, up=False)
    async with bench.working():
        await bench.clock.sleep(timedelta(seconds=5))
        asked = len(bench.carrier.asked)
        began = bench.clock.monotonic()
        bench.store.submit()
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() - began < 0.1, "a signal wakes the worker"
    assert asked == 0


@leaping
async def test_a_start_without_an_answer_is_not_acknowledged_and_its_run_is_taken_up_by_the_heartbeat() -> None:
    bench = CarrierBench()
    calls = bench.count_calls("work")
    bench.store.lost_answers["start"] = 1
    async with bench.working():
        await bench.carrier.send()
        await bench.store.until_ended(1)
    assert calls == [1]
    assert not bench.carrier.acknowledged


@leaping
async def test_a_store_that_says_no_is_asked_again_for_the_next_ticket() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    bench.store.faults["start"] = [StoreUnavailable("away")]
    async with bench.working():
        lost = await bench.carrier.send()
        await bench.store.until(lambda: bool(bench.carrier.starts))
        other = await bench.carrier.send()
        await bench.store.until_ended(1)
    assert other in bench.store.ended
    assert lost not in bench.store.ended


@leaping
async def test_a_session_that_is_found_lost_by_a_start_is_followed_by_another() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.sessions_opened))
        bench.store.bury_session(SessionId(1))
        await bench.carrier.send()
        await bench.store.until(lambda: len(bench.store.sessions_opened) == 2)
        await bench.carrier.send()
        await bench.store.until_ended(1)


@leaping
async def test_a_worker_that_is_to_drain_starts_nothing_that_it_still_receives() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    async with bench.working(ttl=timedelta(seconds=3)):
        await bench.store.until(lambda: bool(bench.store.beats))
        bench.store.draining = True
        await bench.store.until(lambda: any(beat.drained for beat in bench.store.beats))
        await bench.carrier.send()
        await bench.clock.sleep(timedelta(seconds=30))
        assert not bench.carrier.starts


@leaping
async def test_workers_that_cannot_be_counted_are_taken_for_few() -> None:
    bench = CarrierBench()
    bench.count_calls("work")
    bench.store.faults["live"] = [StoreUnavailable("away")]
    async with bench.working(poll=timedelta(seconds=1)):
        await bench.clock.sleep(timedelta(seconds=10))
    assert len(bench.store.claims) >= 8
