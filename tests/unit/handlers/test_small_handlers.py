import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from mainspring.domain.outcome import Failed
from mainspring.testing.clock import ManualClock
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon, Fail
from mainspring.worker.handlers.cleanup import Cleanup
from mainspring.worker.handlers.simulate import Simulate
from mainspring.worker.handlers.trial import Delay, echo, log
from mainspring.worker.outcomes import failure_of, result_text
from tests.unit.handlers.contexts import a_context, output_of


class Chance:
    """A `Random` that always draws the same."""

    def __init__(self, drawn: float) -> None:
        self._drawn = drawn

    def bits(self, count: int) -> int:
        return int(self._drawn * (1 << count))

    def uniform(self) -> float:
        return self._drawn


class Shelf:
    """An `Upkeep` with so many old things on it."""

    def __init__(self, old: int) -> None:
        self.old = old
        self.asked: list[tuple[timedelta, int]] = []

    async def prune(self, older_than: timedelta, limit: int) -> int:
        self.asked.append((older_than, limit))
        removed = min(self.old, limit)
        self.old -= removed
        return removed

    async def fold(self, limit: int) -> int:
        return limit - limit


async def settled(work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    """Start *work* and let it come to its first wait."""
    task = asyncio.create_task(work)
    for _ in range(5):
        await asyncio.sleep(0)
    return task


@pytest.mark.parametrize("text", [b'{"a": [1.0, 1e400]}', b'"\\u00e9"', b"0", b"12345678901234567890.10", b"null"])
async def test_echo_returns_the_payload_as_it_was_written(text: bytes) -> None:
    context = a_context(payload=text)
    assert result_text(await echo(context.payload, context)) == (None if text == b"null" else text)


async def test_delay_lasts_five_seconds_unless_told_otherwise() -> None:
    clock = ManualClock()
    task = await settled(Delay(clock=clock)(None, a_context()))
    clock.advance(timedelta(seconds=4.999))
    await asyncio.sleep(0)
    assert not task.done()
    clock.advance(timedelta(seconds=0.001))
    assert await task == {"durationMs": 5000}


async def test_delay_fails_with_exactly_the_given_text() -> None:
    payload = {"durationMs": 0, "shouldFail": True, "failMessage": "as ordered"}
    with pytest.raises(Fail) as failed:
        await Delay(clock=ManualClock())(payload, a_context())
    assert failure_of(failed.value) == Failed(error="as ordered")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"durationMs": -1}, "durationMs: must be from 0"),
        ({"durationMs": "5"}, "durationMs: must be a number"),
        ({"shouldFail": "yes"}, "shouldFail: must be true or false"),
        ({"duration": 5}, "duration: there is no such field"),
    ],
)
async def test_delay_refuses_what_it_does_not_understand(payload: Any, message: str) -> None:
    with pytest.raises(Abandon, match=message):
        await Delay(clock=ManualClock())(payload, a_context())


async def test_a_delay_that_is_asked_to_stop_stops() -> None:
    context = a_context()
    task = await settled(Delay(clock=ManualClock())({"durationMs": 60_000}, context))
    context.cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_delay_whose_wait_is_cancelled_leaves_no_task_behind() -> None:
    task = await settled(Delay(clock=ManualClock())({"durationMs": 60_000}, a_context()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_log_writes_to_the_worker_and_to_the_run() -> None:
    context = a_context()
    with capture_logs() as logged:
        await log({"message": "hello", "level": "Warning"}, context)
    assert [(entry["message"], entry["log_level"]) for entry in logged] == [("hello", "warning")]
    assert b"hello" in output_of(context)


@pytest.mark.parametrize(
    ("payload", "message"), [({"message": "x", "level": "fatal"}, "level: must be one of debug"), ({}, "message: is")]
)
async def test_log_refuses_what_it_does_not_understand(payload: Any, message: str) -> None:
    with pytest.raises(Abandon, match=message):
        await log(payload, a_context())


@pytest.mark.parametrize(
    ("drawn", "rate", "fails"), [(0.29, 0.3, True), (0.3, 0.3, False), (0.0, 0, False), (0.99, 1, True)]
)
async def test_simulated_work_fails_as_often_as_its_rate_says(drawn: float, rate: float, *, fails: bool) -> None:
    work = Simulate(clock=ManualClock(), random=Chance(drawn))
    payload = {"execution_time_ms": 0, "fail_rate": rate, "payload": {"any": "thing"}}
    if fails:
        with pytest.raises(Fail):
            await work(payload, a_context())
    else:
        assert await work(payload, a_context()) == {"execution_time_ms": 0}


async def test_simulated_work_takes_a_second_unless_told_otherwise() -> None:
    clock = ManualClock()
    task = await settled(Simulate(clock=clock, random=Chance(0.5))({}, a_context()))
    assert not task.done()
    clock.advance(timedelta(seconds=1))
    assert await task == {"execution_time_ms": 1000}


async def test_simulated_work_refuses_a_rate_above_one() -> None:
    with pytest.raises(Abandon, match="fail_rate: must be from 0 to 1"):
        await Simulate(clock=ManualClock(), random=Chance(0.5))({"fail_rate": 1.5}, a_context())


def cleanup(shelf: Shelf, context: Context, *, days: Any = 7) -> Any:
    return Cleanup(upkeep=shelf)({"olderThanDays": days}, context)


async def test_cleanup_prunes_in_batches_until_nothing_is_left() -> None:
    shelf = Shelf(2500)
    assert await cleanup(shelf, a_context()) == {"removed": 2500}
    assert shelf.asked == [(timedelta(days=7), 1000)] * 4


async def test_cleanup_keeps_thirty_days_unless_told_otherwise() -> None:
    shelf = Shelf(0)
    await Cleanup(upkeep=shelf)(None, a_context())
    assert shelf.asked == [(timedelta(days=30), 1000)]


async def test_cleanup_stops_between_batches() -> None:
    shelf, context = Shelf(5000), a_context()
    context.cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await cleanup(shelf, context)
    assert shelf.old == 4000


@pytest.mark.parametrize("days", [-1, "7", True, 1e9])
async def test_cleanup_refuses_an_age_that_makes_no_sense(days: Any) -> None:
    with pytest.raises(Abandon, match="olderThanDays: must be"):
        await cleanup(Shelf(10), a_context(), days=days)
