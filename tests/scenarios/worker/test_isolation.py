"""Suspects run alone: in a worker that holds nothing else, one after the other, in turn with all other work."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from mainspring.domain.ids import DEFAULT_LANE, Fence, RunId
from mainspring.domain.outcome import Lost, judge
from mainspring.domain.run import State
from mainspring.domain.suspects import EXPIRED
from mainspring.errors import Exhausted, StoreUnavailable
from mainspring.ports.locks import Lock, owned
from mainspring.ports.sessions import Role
from mainspring.testing.factories import Factory, a_session
from mainspring.testing.model import MemoryStore
from mainspring.worker.context import Context
from mainspring.worker.executing import BESIDE_A_SUSPECT
from mainspring.worker.isolation import MOST_REST, TURN
from mainspring.worker.settings import Ended, WorkerSettings
from mainspring.worker.worker import Worker
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping

SECOND = timedelta(seconds=1)
LOOK_EVERY = timedelta(seconds=5)
"""A heartbeat."""
MINUTE = timedelta(minutes=1)


class Company(Bench):
    """A bench whose handler `work` sleeps for as many seconds as its payload says, and notes who runs beside whom."""

    def __init__(self) -> None:
        super().__init__()
        self.running: set[RunId] = set()
        self.begun: Counter[RunId] = Counter()
        self.beside: dict[RunId, set[RunId]] = {}
        """Whatever ever executed at the same time."""

        @self.registry.handler("work")
        async def work(seconds: float, context: Context) -> None:
            for other in self.running:
                self.beside[other].add(context.run_id)
            self.beside.setdefault(context.run_id, set()).update(self.running)
            self.begun[context.run_id] += 1
            self.running.add(context.run_id)
            try:
                await self.clock.sleep(timedelta(seconds=seconds))
            finally:
                self.running.discard(context.run_id)

    def add(self, seconds: float = 1, *, suspect: bool = False) -> RunId:
        return self.store.submit(payload=str(seconds).encode(), suspect=suspect, timeout=timedelta(hours=2))


@leaping
async def test_a_suspect_runs_when_everything_else_has_ended_and_nothing_begins_beside_it() -> None:
    bench = Company()
    before = [bench.add(7) for _ in range(3)]
    async with bench.working():
        await bench.store.until(lambda: not bench.store.waiting)
        suspect = bench.add(5, suspect=True)
        await bench.store.until(lambda: suspect not in bench.store.waiting)
        assert bench.store.ended.keys() == {*before}
        after = [bench.add() for _ in range(3)]
        await bench.store.until_ended(7)
    assert bench.beside[suspect] == set()
    assert bench.store.ended[suspect].state is State.SUCCEEDED
    assert bench.store.ended.keys() == {*before, suspect, *after}
    assert set(bench.begun.values()) == {1}


@leaping
async def test_suspects_run_one_after_the_other() -> None:
    bench = Company()
    suspects = [bench.add(suspect=True) for _ in range(5)]
    async with bench.working():
        await bench.store.until_ended(5)
        assert bench.clock.monotonic() < (2 * LOOK_EVERY + TURN).total_seconds()
    assert {run: bench.beside[run] for run in suspects} == {run: set() for run in suspects}


@leaping
async def test_other_work_goes_on_while_another_worker_is_the_one_to_be_emptied() -> None:
    bench = Company()
    bench.locks.held = Lock(name="any", holder="other", fence=Fence(1), expires_at=bench.clock.now() + MINUTE)
    bench.locks.fence = 1
    suspect = bench.add(suspect=True)
    async with bench.working():
        for number in range(1, 50):
            bench.add()
            await bench.store.until_ended(number)
        assert suspect in bench.store.waiting
        await bench.store.until(lambda: suspect in bench.store.ended)
        assert bench.clock.monotonic() < (MINUTE + 2 * LOOK_EVERY).total_seconds()


@leaping
async def test_the_lock_is_renewed_for_as_long_as_a_suspect_takes_and_given_up_afterwards() -> None:
    bench = Company()
    suspect = bench.add(600, suspect=True)
    async with bench.working():
        await bench.store.until(lambda: suspect in bench.store.ended)
        await bench.clock.sleep(SECOND)
        assert bench.locks.renewals >= 600 / 15
        assert bench.locks.held is None


@leaping
async def test_neither_suspects_nor_other_work_wait_for_ever() -> None:
    bench = Company()
    suspects = [bench.add(3, suspect=True) for _ in range(40)]
    async with bench.working():
        ended: list[float] = []
        while not all(run in bench.store.ended for run in suspects):
            count = len(bench.store.ended)
            bench.add()
            await bench.store.until_ended(count + 1)
            ended.append(bench.clock.monotonic())
        others = sorted(set(bench.store.ended) - set(suspects))
        assert len(others) > 20
    waits = [later - earlier for earlier, later in pairwise(ended)]
    assert max(waits) < (TURN + 2 * LOOK_EVERY + MOST_REST).total_seconds()
    assert bench.clock.monotonic() < 40 * 3 * 4


@leaping
async def test_a_suspect_that_comes_by_another_way_is_handed_back() -> None:
    """As when the answer to the claim for it was lost, and the heartbeat tells of it while others execute."""
    bench = Company()
    bench.store.lost_answers["claim"] = 0
    suspect = bench.add(suspect=True)
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.sessions_opened))
        bench.store.waiting.remove(suspect)
        busy = bench.add(40)
        await bench.store.until(lambda: busy not in bench.store.waiting)
        bench.store.runs[suspect] = replace(bench.store.runs[suspect], session=bench.store.runs[busy].session)
        await bench.store.until(lambda: suspect in bench.store.waiting)
        assert bench.store.last(suspect).suspect
        assert bench.begun[suspect] == 0
        await bench.store.until_ended(2)
    assert bench.beside[suspect] == set()


@leaping
async def test_what_comes_while_a_suspect_executes_is_handed_back() -> None:
    bench = Company()
    suspect = bench.add(40, suspect=True)
    async with bench.working():
        await bench.store.until(lambda: suspect not in bench.store.waiting)
        stray = bench.add()
        bench.store.waiting.remove(stray)
        bench.store.runs[stray] = replace(bench.store.runs[stray], session=bench.store.runs[suspect].session)
        await bench.store.until(lambda: stray in bench.store.waiting)
        assert bench.store.last(stray).reason == BESIDE_A_SUSPECT
        await bench.store.until_ended(2)
    assert bench.beside[suspect] == set()


@leaping
async def test_a_claim_for_a_suspect_whose_answer_is_lost_leaves_it_to_run_alone_later() -> None:
    bench = Company()
    suspect = bench.add(suspect=True)
    async with bench.working():
        await bench.store.until(lambda: bench.locks.held is not None)
        bench.store.lost_answers["claim"] = 1
        await bench.store.until(lambda: suspect in bench.store.ended)
    assert bench.begun == {suspect: 1}


@leaping
@pytest.mark.parametrize("verb", ["next_wake", "live"])
async def test_a_store_that_fails_to_answer_is_asked_again(verb: str) -> None:
    bench = Company()
    bench.store.faults[verb] = [StoreUnavailable("down")]
    suspect = bench.add(suspect=True)
    async with bench.working():
        await bench.store.until(lambda: suspect in bench.store.ended)
        assert bench.clock.monotonic() < 4 * LOOK_EVERY.total_seconds()


@leaping
async def test_a_worker_that_lacks_what_a_suspect_needs_pauses_and_is_not_emptied_meanwhile() -> None:
    bench = Company()
    tried: list[float] = []

    @bench.registry.handler("greedy")
    async def greedy() -> None:
        tried.append(bench.clock.monotonic())
        raise Exhausted("memory", "Cannot allocate memory")

    suspect = bench.store.submit("greedy", suspect=True)
    async with bench.working():
        await bench.clock.sleep(MINUTE)
        assert suspect in bench.store.waiting
        assert 2 < len(tried) < 20
        assert min(later - earlier for earlier, later in pairwise(tried)) >= 1


@leaping
async def test_a_worker_with_a_long_execution_leaves_suspects_to_one_without() -> None:
    company = Company()
    store = MemoryStore(company.clock)
    make = Factory(start=company.clock.now())
    (suspect,) = await lost_twice(store, make, 1)
    long = make.run(handler="work", payload=b"36000", timeout=timedelta(hours=20))
    await store.work.add([long])
    async with workers(store, 1, company):
        while await store.locks.find(owned("", "suspects/default/0")) is None:
            await company.clock.sleep(SECOND)
        async with workers(store, 1, company, name="idle"):
            while suspect not in company.begun:
                await company.clock.sleep(SECOND)
            assert company.running == {suspect, long.id}
            assert company.clock.monotonic() < 3 * MINUTE.total_seconds()


@leaping
async def test_an_execution_that_lasts_long_is_waited_for_where_no_other_worker_is() -> None:
    bench = Company()
    bench.store.submit(payload=b"7000", timeout=timedelta(hours=2))
    async with bench.working(concurrency=2):
        await bench.store.until(lambda: not bench.store.waiting)
        suspect = bench.add(suspect=True)
        while suspect not in bench.store.ended:
            if len(bench.store.waiting) < 2:
                bench.add(300)
            await bench.clock.sleep(10 * SECOND)
        assert bench.beside[suspect] == set()
        assert bench.clock.monotonic() < timedelta(hours=6).total_seconds()


@leaping
async def test_no_further_suspect_begins_once_the_lock_is_lost() -> None:
    bench = Company()
    first, second = bench.add(4, suspect=True), bench.add(4, suspect=True)
    async with bench.working():
        await bench.store.until(lambda: first not in bench.store.waiting)
        other = bench.clock.now() + timedelta(hours=1)
        bench.locks.held = Lock(name="any", holder="other", fence=Fence(9), expires_at=other)
        bench.locks.fence = 9
        await bench.store.until(lambda: first in bench.store.ended)
        await bench.clock.sleep(MINUTE)
        assert (second in bench.store.waiting) is (bench.begun[second] == 0)
        assert bench.beside[first] == set()


@leaping
async def test_a_handler_that_nothing_can_end_keeps_suspects_out_and_other_work_going() -> None:
    bench = Company()
    bench.tasks.gate.clear()

    @bench.registry.handler("stuck")
    def stuck() -> None:
        """In a thread, which the closed gate holds up."""

    bench.store.submit("stuck", timeout=SECOND)
    suspect = bench.add(suspect=True)
    async with bench.working(concurrency=8):
        await bench.clock.sleep(5 * MINUTE)
        assert suspect in bench.store.waiting
        other = bench.add()
        await bench.store.until(lambda: other in bench.store.ended)
        bench.tasks.gate.set()
        await bench.store.until(lambda: suspect in bench.store.ended)


@leaping
async def test_a_worker_that_runs_a_suspect_stops_in_order() -> None:
    bench = Company()
    suspect = bench.add(3600, suspect=True)
    async with bench.working():
        await bench.store.until(lambda: suspect not in bench.store.waiting)
        await bench.clock.sleep(SECOND)
    assert bench.store.closed == [1]
    verdict = bench.store.last(suspect)
    assert (verdict.state, verdict.suspect, verdict.losses) == (State.WAITING, True, 0)


@leaping
async def test_a_worker_that_is_being_emptied_can_be_stopped() -> None:
    bench = Company()
    bench.add(3600)
    async with bench.working():
        await bench.store.until(lambda: not bench.store.waiting)
        bench.add(suspect=True)
        await bench.store.until(lambda: bench.locks.held is not None)
        await bench.clock.sleep(SECOND)
    assert bench.store.closed == [1]


@asynccontextmanager
async def workers(store: MemoryStore, count: int, company: Company, name: str = "worker") -> AsyncIterator[None]:
    """So many over one store."""
    stop = asyncio.Event()
    tasks: list[asyncio.Task[Ended]] = []
    for number in range(count):
        bench = Bench()
        ports = replace(
            company.ports(),
            work=store.work,
            sessions=store.sessions,
            locks=store.locks,
            output=store.output,
            blobs=store.blobs,
            journal=bench.journal,
            tasks=bench.tasks,
        )
        worker = Worker(ports, WorkerSettings(name=f"{name}-{number}"), company.registry)
        tasks.append(asyncio.ensure_future(worker.run(stop, asyncio.Event())))
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def lost_twice(store: MemoryStore, make: Factory, count: int) -> list[RunId]:
    """So many suspects."""
    runs = [make.run(handler="work", payload=b"3") for _ in range(count)]
    await store.work.add(runs)
    session = await store.sessions.open(a_session("dead", handlers={"work": DEFAULT_LANE}))
    for _ in range(2):
        attempts = (await store.work.claim(session, [DEFAULT_LANE], len(runs))).attempts
        lost = Lost(shared=EXPIRED)
        await store.work.settle([judge(each, lost, now=make.moment, uniform=0.0) for each in attempts])
    await store.sessions.close(session)
    return [run.id for run in runs]


@leaping
@pytest.mark.parametrize(("count", "emptied"), [(1, 1), (3, 1), (8, 2), (11, 2)])
async def test_one_worker_in_four_is_emptied_and_at_least_one(count: int, emptied: int) -> None:
    company = Company()
    store = MemoryStore(company.clock)
    make = Factory(start=company.clock.now())
    runs = await lost_twice(store, make, 4 * count)
    async with workers(store, count, company):
        most = 0
        while len(company.begun) < len(runs) or company.running:
            most = max(most, len(company.running))
            await company.clock.sleep(SECOND / 4)
        assert len(await store.sessions.live(Role.WORKER)) == count
    assert most == emptied
    assert set(company.begun.values()) == {1}
