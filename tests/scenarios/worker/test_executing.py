import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from mainspring.domain.ids import BlobId
from mainspring.domain.retry import LONGEST_DELAY, RetryPolicy
from mainspring.domain.run import State
from mainspring.errors import StoreFull, StoreUnavailable
from mainspring.ports.journal import Began, Finished
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon, RetryAfter, Snooze
from mainspring.worker.settings import Ended
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping

ONCE = RetryPolicy(max_retries=0)


async def outcome_of(handler: Callable[..., Any], *, isolate: bool = False, **terms: Any) -> Any:
    """The verdict on one run of *handler*, after a healthy run on the same worker has shown that it lives on."""
    bench = Bench()
    bench.registry.add("work", handler, isolate=isolate)
    bench.registry.add("healthy", lambda: None)
    run = bench.store.submit(**terms)
    async with bench.working():
        await bench.store.until(lambda: any(each.run_id == run for each in bench.store.verdicts))
        healthy = bench.store.submit("healthy")
        await bench.store.until(lambda: healthy in bench.store.ended)
    assert bench.store.ended[healthy].state is State.SUCCEEDED
    return next(each for each in bench.store.verdicts if each.run_id == run)


@leaping
async def test_a_handler_gets_the_parsed_payload_and_its_context() -> None:
    async def work(payload: Any, context: Context) -> Any:
        return [payload, context.attempt, context.fence, context.owner, context.payload_text.decode()]

    verdict = await outcome_of(work, payload=b'{"b": 1}')
    assert verdict.result == b'[{"b":1},1,1,"default","{\\"b\\": 1}"]'


@leaping
async def test_a_sync_handler_runs_through_the_threads() -> None:
    def work(payload: int) -> int:
        return payload + 1

    assert (await outcome_of(work, payload=b"41")).result == b"42"


def asks_for_an_endless_snooze() -> None:
    raise Snooze(timedelta.max)


def asks_for_an_endless_retry() -> None:
    raise RetryAfter(timedelta.max)


def isolated_work(payload: int, context: Context) -> list[int]:
    context.print("from the child\n")
    return [payload, context.attempt]


@leaping
async def test_an_isolated_handler_answers_and_prints_through_json_alone() -> None:
    bench = Bench()
    bench.registry.add("work", isolated_work, isolate=True)
    run = bench.store.submit(payload=b"5")
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.store.ended[run].result == b"[5,1]"
    assert [printed.head for printed in bench.store.outputs] == [b"from the child\n"]


@leaping
async def test_an_exception_is_a_failure_with_its_place() -> None:
    async def work() -> None:
        raise ValueError("broken")

    verdict = await outcome_of(work)
    assert (verdict.state, verdict.failures, verdict.delay) == (State.WAITING, 1, timedelta(seconds=1))
    assert verdict.error.startswith("ValueError: broken\n")
    assert "in work" in verdict.error


@pytest.mark.parametrize(
    "error",
    [
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        BaseExceptionGroup("g", [SystemExit()]),
    ],
    ids=lambda error: type(error).__name__,
)
@leaping
async def test_no_exception_of_a_handler_ends_the_worker(error: BaseException) -> None:
    async def work() -> None:
        raise error

    verdict = await outcome_of(work, retry=ONCE)
    assert verdict.state is State.DEAD
    assert type(error).__name__ in verdict.error


@leaping
async def test_an_exit_in_a_thread_is_a_failure_too() -> None:
    def work() -> None:
        raise SystemExit(1)

    assert (await outcome_of(work, retry=ONCE)).error.startswith("SystemExit: 1")


@leaping
async def test_snoozing_charges_nothing() -> None:
    async def work() -> None:
        raise Snooze(timedelta(minutes=2))

    verdict = await outcome_of(work)
    assert (verdict.state, verdict.failures, verdict.delay) == (State.WAITING, 0, timedelta(minutes=2))


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("handler", [asks_for_an_endless_snooze, asks_for_an_endless_retry])
@leaping
async def test_an_endless_wait_is_cut_to_the_longest(handler: Callable[[], None], isolate: bool) -> None:
    verdict = await outcome_of(handler, isolate=isolate)
    assert (verdict.state, verdict.delay) == (State.WAITING, LONGEST_DELAY)


@leaping
async def test_abandoning_goes_straight_to_the_dead_letters() -> None:
    async def work() -> None:
        raise Abandon("no such customer")

    verdict = await outcome_of(work)
    assert (verdict.state, verdict.error, verdict.reason) == (State.DEAD, "no such customer", "permanent failure")


@leaping
async def test_retry_after_replaces_the_wait_of_the_policy() -> None:
    async def work() -> None:
        raise RetryAfter(timedelta(seconds=90), "busy")

    verdict = await outcome_of(work)
    assert (verdict.failures, verdict.delay, verdict.error) == (1, timedelta(seconds=90), "busy")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", b"bytes"], ids=["nan", "set", "surrogate", "bytes"])
@leaping
async def test_a_result_that_is_not_json_is_a_failure_that_says_so(value: Any) -> None:
    async def work() -> Any:
        return value

    verdict = await outcome_of(work)
    assert verdict.failures == 1
    assert verdict.error.startswith("the handler's result can't be stored as JSON")


@leaping
async def test_a_large_result_goes_to_the_blobs_however_long_that_takes() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> str:
        return "x" * 5000

    bench.store.faults["put"] = [StoreUnavailable("down")] * 30
    run = bench.store.submit(timeout=timedelta(seconds=2))
    async with bench.working():
        await bench.store.until_ended(1)
    verdict = bench.store.ended[run]
    assert (verdict.state, verdict.result, verdict.blob) == (State.SUCCEEDED, None, "blob-0")
    assert bench.store.blobs[BlobId("blob-0")] == b'"' + b"x" * 5000 + b'"'


@leaping
async def test_a_payload_in_the_blobs_is_fetched_before_the_call() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work(payload: Any, context: Context) -> Any:
        return [payload, len(context.payload_text)]

    bench.store.blobs[BlobId("p")] = b'"large"'
    run = bench.store.submit(payload=b"", blob=BlobId("p"))
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.store.ended[run].result == b'["large",7]'


@leaping
async def test_a_run_whose_payload_cannot_be_had_now_is_handed_back() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.faults["get"] = [StoreUnavailable("down")]
    run = bench.store.submit(payload=b"", blob=BlobId("p"))
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.verdicts))
    assert (bench.store.last(run).attempt, bench.store.last(run).failures) == (0, 0)
    assert calls == []


@leaping
async def test_starts_are_journalled_with_one_write_before_any_handler_is_called() -> None:
    bench = Bench()
    noted: list[int] = []

    @bench.registry.handler("work")
    async def work() -> None:
        noted.append(sum(isinstance(note, Began) for note in bench.journal.written))

    for _ in range(10):
        bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(10)
    assert noted == [10] * 10
    assert bench.journal.writes == [1, 10] + [1] * 10


@leaping
async def test_a_verdict_is_journalled_before_it_leaves() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["settle"] = [StoreUnavailable("down")] * 3
    bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: len(bench.store.faults["settle"]) < 3)
        assert any(isinstance(note, Finished) for note in bench.journal.notes)


@leaping
async def test_an_unwritable_journal_does_not_stop_the_work() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.journal.fault = StoreFull("no space left")
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)


@leaping
async def test_a_long_journal_is_rewritten_to_what_a_successor_needs() -> None:
    bench = Bench()
    unblocked = asyncio.Event()

    @bench.registry.handler("work")
    async def work(payload: Any) -> None:
        if payload == "wait":
            await unblocked.wait()

    waiting = bench.store.submit(payload=b'"wait"')
    async with bench.working():
        await bench.store.until(lambda: not bench.store.waiting)
        bench.journal.size = 5 * 1024 * 1024
        bench.store.submit()
        await bench.store.until_ended(1)
        kept = bench.journal.rewrites[-1]
        assert Began(waiting, bench.store.runs[waiting].fence) in kept
        assert len(bench.journal.rewrites) == 2
        unblocked.set()


@pytest.mark.parametrize("seconds", [0.3, 5.0])
@leaping
async def test_an_async_handler_is_stopped_at_its_deadline(seconds: float) -> None:
    bench = Bench()
    stopped: list[float] = []

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(bench.clock.monotonic())
            assert context.cancelled.is_set()

    run = bench.store.submit(timeout=timedelta(seconds=seconds), retry=ONCE)
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.store.ended[run].error == f"timed out after {seconds:g} s"
    assert seconds <= stopped[0] <= seconds + 0.2


@leaping
async def test_a_handler_that_ignores_its_cancellation_is_settled_after_the_grace() -> None:
    bench = Bench()
    released = asyncio.Event()

    @bench.registry.handler("work")
    async def work() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    run = bench.store.submit(timeout=timedelta(seconds=1), retry=ONCE)
    async with bench.working(cancel_grace=timedelta(seconds=10)):
        await bench.store.until_ended(1)
        assert 11 <= bench.clock.monotonic() <= 11.5
        assert bench.store.ended[run].error == "timed out after 1 s"
        released.set()


@leaping
async def test_work_that_is_done_counts_even_if_it_is_late() -> None:
    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done"
        return "never"

    assert (await outcome_of(work, timeout=timedelta(seconds=1))).result == b'"done"'


@leaping
async def test_a_hung_thread_is_settled_at_its_timeout_and_keeps_its_slot_until_it_ends() -> None:
    bench = Bench()
    bench.tasks.gate.clear()
    bench.registry.add("work", lambda: None)
    executing: list[int] = []

    @bench.registry.handler("other")
    async def other() -> None:
        executing.append(1)
        await bench.clock.sleep(timedelta(milliseconds=200))
        executing.pop()
        most.append(len(executing) + 1)

    most: list[int] = []
    hung = bench.store.submit(timeout=timedelta(seconds=2), retry=ONCE)
    async with bench.working(concurrency=8):
        await bench.store.until_ended(1)
        assert bench.store.ended[hung].error == "timed out after 2 s"
        for _ in range(40):
            bench.store.submit("other")
        await bench.store.until_ended(41)
        assert max(most) == 7
        bench.tasks.gate.set()
        for _ in range(40):
            bench.store.submit("other")
        await bench.store.until_ended(81)
        assert max(most) == 8
    assert len(bench.store.verdicts) == 81


@leaping
async def test_a_worker_with_a_quarter_of_its_slots_lost_drains_itself_and_says_why() -> None:
    bench = Bench()
    bench.tasks.gate.clear()
    bench.registry.add("work", lambda: None)
    worker = bench.start(concurrency=8)
    bench.store.submit(timeout=timedelta(seconds=2), retry=ONCE)
    await bench.store.until_ended(1)
    await bench.clock.sleep(timedelta(minutes=1))
    assert not worker.done()
    before = bench.clock.monotonic()
    bench.store.submit(timeout=timedelta(seconds=2), retry=ONCE)
    assert await worker is Ended.SLOTS_LOST
    assert bench.clock.monotonic() - before < 3
    assert len(bench.store.ended) == 2
    assert bench.store.closed == [1]


async def test_a_thread_sees_its_cancellation() -> None:
    bench = Bench()
    from mainspring.adapters.system.tasks import SystemTasks  # noqa: PLC0415

    bench.tasks = SystemTasks(2)  # type: ignore[assignment]  # real threads, for once
    names: list[str] = []

    @bench.registry.handler("work")
    def work(_: Any, context: Context) -> None:
        names.append(threading.current_thread().name)
        assert context.cancelled.wait_blocking(timedelta(seconds=30))

    run = bench.store.submit(timeout=timedelta(milliseconds=100), retry=ONCE)
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.store.ended[run].error == "timed out after 0.1 s"
    assert names == ["handler-1"]
