import asyncio
from datetime import timedelta
from typing import Any

from mainspring.domain.run import State
from mainspring.errors import StoreUnavailable
from mainspring.ports.journal import Finished, Opened
from mainspring.worker.settings import Ended
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping


@leaping
async def test_executing_runs_may_end_while_nothing_new_is_claimed() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await bench.clock.sleep(timedelta(seconds=20))

    run = bench.store.submit()
    worker = bench.start()
    await bench.store.until(lambda: not bench.store.waiting)
    bench.stop.set()
    await asyncio.sleep(1)
    late = bench.store.submit()
    assert await worker is Ended.ASKED
    assert bench.store.ended[run].state is State.SUCCEEDED
    assert bench.store.waiting == [late]
    assert bench.store.closed == [1]
    assert bench.journal.notes == []


@leaping
async def test_what_has_not_started_is_handed_back_at_once_and_free_of_charge() -> None:
    bench = Bench()
    slots, unblocked = asyncio.Barrier(9), asyncio.Event()

    @bench.registry.handler("work")
    async def work(payload: Any) -> None:
        if not payload:
            await bench.clock.sleep(timedelta(milliseconds=1))
            return
        await slots.wait()
        await unblocked.wait()

    bench.store.delays["claim"] = timedelta(milliseconds=5)
    for _ in range(4000):
        bench.store.submit(payload=b"false")
    blocked = [bench.store.submit(payload=b"true") for _ in range(200)]
    worker = bench.start(concurrency=8)
    await slots.wait()
    bench.stop.set()
    handed_back = "the worker was shut down before it began"
    await bench.store.until(lambda: any(each.reason == handed_back for each in bench.store.verdicts))
    assert all(each.attempt == 0 for each in bench.store.verdicts if each.reason == handed_back)
    unblocked.set()
    await worker
    assert sum(run in bench.store.ended for run in blocked) == 8
    assert len(bench.store.ended) + len(bench.store.waiting) == 4200


@leaping
async def test_what_takes_too_long_is_stopped_and_handed_back_free_of_charge() -> None:
    bench = Bench()
    stopped: list[float] = []

    @bench.registry.handler("work")
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(bench.clock.monotonic())

    run = bench.store.submit()
    worker = bench.start(drain=timedelta(seconds=30))
    await bench.store.until(lambda: not bench.store.waiting)
    bench.stop.set()
    await worker
    verdict = bench.store.last(run)
    assert (verdict.state, verdict.attempt, verdict.failures) == (State.WAITING, 0, 0)
    assert verdict.reason == "the worker was shut down"
    assert 30 <= stopped[0] <= 30.5


@leaping
async def test_a_thread_that_takes_too_long_is_handed_back_although_it_cannot_be_stopped() -> None:
    bench = Bench()
    bench.tasks.gate.clear()
    bench.registry.add("work", lambda: None)
    run = bench.store.submit()
    worker = bench.start(drain=timedelta(seconds=30))
    await bench.store.until(lambda: not bench.store.waiting)
    bench.stop.set()
    await worker
    assert (bench.store.last(run).attempt, bench.store.waiting) == (0, [run])
    assert bench.clock.monotonic() <= 31


@leaping
async def test_a_second_signal_ends_the_waiting_at_once() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def ignore_everything() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    released = asyncio.Event()
    run = bench.store.submit()
    worker = bench.start(drain=timedelta(hours=1))
    await bench.store.until(lambda: not bench.store.waiting)
    bench.stop.set()
    await asyncio.sleep(2)
    bench.hurry.set()
    await worker
    released.set()
    assert bench.clock.monotonic() < 3
    assert (bench.store.last(run).attempt, bench.store.waiting) == (0, [run])
    assert bench.store.last(run).reason == "the worker was shut down"
    assert bench.store.closed == [1]


@leaping
async def test_a_store_that_is_away_at_the_end_finds_everything_in_the_journal_later() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.faults["settle"] = [StoreUnavailable("down")] * 10_000
    bench.store.faults["close"] = [StoreUnavailable("down")]
    run = bench.store.submit()
    worker = bench.start()
    await bench.store.until(lambda: bool(calls))
    bench.stop.set()
    await worker
    assert bench.journal.notes[0] == Opened(bench.store.runs[run].session)
    assert any(isinstance(note, Finished) for note in bench.journal.notes)
    bench.store.faults.clear()
    bench.stop.clear()
    async with bench.working():
        await bench.store.until_ended(1)
    assert calls == [1]


@leaping
async def test_runs_of_a_last_claim_whose_answer_was_lost_are_handed_back() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.lost_answers["claim"] = 1
    run = bench.store.submit()
    worker = bench.start()
    await bench.store.until(lambda: not bench.store.waiting)
    bench.stop.set()
    await worker
    assert (bench.store.last(run).attempt, bench.store.waiting) == (0, [run])


@leaping
async def test_a_claim_that_is_outstanding_is_waited_for_and_handed_back() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.delays["claim"] = timedelta(seconds=2)
    run = bench.store.submit()
    worker = bench.start()
    await asyncio.sleep(1)
    bench.stop.set()
    await worker
    assert (calls, bench.store.waiting) == ([], [run])
    assert bench.store.last(run).attempt == 0


@leaping
async def test_a_session_that_is_lost_while_draining_is_not_replaced() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await asyncio.Event().wait()

    bench.store.submit()
    worker = bench.start(drain=timedelta(minutes=5))
    await asyncio.sleep(1)
    bench.stop.set()
    await asyncio.sleep(1)
    bench.store.alive.clear()
    await worker
    assert len(bench.store.sessions_opened) == 1
    assert bench.clock.monotonic() < 10
