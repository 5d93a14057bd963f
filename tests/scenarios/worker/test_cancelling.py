import asyncio
from datetime import timedelta
from typing import Any

from mainspring.domain.run import State
from mainspring.worker.context import Context
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping


@leaping
async def test_a_cancel_arrives_with_a_heartbeat_and_the_handler_may_stop_by_itself() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        await context.cancelled.wait()
        raise RuntimeError("stopping")

    run = bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.flagged.add(run)
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() <= 6
    assert (bench.store.ended[run].state, bench.store.ended[run].reason) == (State.CANCELLED, "cancelled")


@leaping
async def test_a_handler_that_does_not_stop_is_cancelled_after_the_grace() -> None:
    bench = Bench()
    stopped: list[float] = []

    @bench.registry.handler("work")
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(bench.clock.monotonic())

    run = bench.store.submit()
    async with bench.working(cancel_grace=timedelta(seconds=10)):
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.flagged.add(run)
        await bench.store.until_ended(1)
    assert bench.store.ended[run].state is State.CANCELLED
    assert 15 <= stopped[0] <= 15.7


@leaping
async def test_a_child_is_killed_after_the_grace() -> None:
    bench = Bench()
    bench.tasks.gate.clear()
    bench.registry.add("work", isolated_noop, isolate=True)
    run = bench.store.submit()
    async with bench.working(cancel_grace=timedelta(seconds=10)):
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.flagged.add(run)
        await bench.store.until_ended(1)
    assert bench.store.ended[run].state is State.CANCELLED


def isolated_noop() -> None:
    pass


@leaping
async def test_a_thread_that_does_not_stop_is_settled_as_cancelled_after_the_grace() -> None:
    bench = Bench()
    bench.tasks.gate.clear()
    bench.registry.add("work", lambda: None)
    run = bench.store.submit()
    async with bench.working(cancel_grace=timedelta(seconds=10)):
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.flagged.add(run)
        await bench.store.until_ended(1)
        assert 15 <= bench.clock.monotonic() <= 15.7
    assert bench.store.ended[run].state is State.CANCELLED


@leaping
async def test_work_that_is_finished_in_the_grace_counts() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> str:
        await context.cancelled.wait()
        return "all the same"

    run = bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.flagged.add(run)
        await bench.store.until_ended(1)
    assert bench.store.ended[run].state is State.SUCCEEDED


@leaping
async def test_a_prefetched_run_that_is_cancelled_never_starts() -> None:
    bench = Bench()
    unblocked = asyncio.Event()
    started: list[Any] = []

    @bench.registry.handler("work")
    async def work(payload: Any) -> None:
        started.append(payload)
        await unblocked.wait()

    bench.store.submit(payload=b"1")
    async with bench.working(concurrency=1, ttl=timedelta(milliseconds=300)):
        await bench.store.until(lambda: not bench.store.waiting)
        # As if prefetched: handed over by a claim whose answer was lost, and found by heartbeats.
        second = bench.store.submit(payload=b"2")
        bench.store.waiting.clear()
        bench.store._hand_over(second, bench.store.runs[next(iter(bench.store.runs))].session)
        await bench.clock.sleep(timedelta(milliseconds=350))
        bench.store.flagged.add(second)
        await bench.store.until(lambda: second in bench.store.ended)
        unblocked.set()
    assert bench.store.ended[second].state is State.CANCELLED
    assert started == [1]
