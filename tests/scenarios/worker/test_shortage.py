"""A worker whose process lacks something hands back what it can't begin, pauses, says so, and goes on later."""

from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from mainspring.domain.run import State
from mainspring.errors import Exhausted
from mainspring.worker.shortage import FIRST, LONGEST, QUIET
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping

LACK = "this process is short of file descriptors: Too many open files"


class Lacking(Bench):
    """A worker whose one handler can't begin while *lacks* is set."""

    def __init__(self) -> None:
        super().__init__()
        self.lacks = True
        self.tried: list[float] = []

        @self.registry.handler("work")
        async def work() -> None:
            self.tried.append(self.clock.monotonic())
            if self.lacks:
                raise Exhausted("file descriptors", "Too many open files")


@leaping
async def test_what_could_not_begin_is_handed_back_and_costs_no_attempt() -> None:
    bench = Lacking()
    run = bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.verdicts))
        verdict = bench.store.last(run)
        assert (verdict.state, verdict.attempt, verdict.failures, verdict.losses) == (State.WAITING, 0, 0, 0)
        assert verdict.reason == LACK
        bench.lacks = False
        await bench.store.until_ended(1)
    assert bench.store.ended[run].attempt == 1


@leaping
async def test_tries_are_ever_rarer_so_that_it_is_another_workers_turn() -> None:
    bench = Lacking()
    bench.store.submit()
    async with bench.working(poll=timedelta(milliseconds=10)):
        await bench.clock.sleep(timedelta(minutes=5))
        gaps = [later - earlier for earlier, later in zip(bench.tried, bench.tried[1:], strict=False)]
        assert gaps[:4] == pytest.approx([1, 2, 4, 8], abs=0.1)
        assert gaps[-3:] == pytest.approx([LONGEST.total_seconds()] * 3, abs=0.1)
        bench.lacks = False
        await bench.store.until_ended(1)


@leaping
async def test_what_waits_for_a_slot_is_given_to_others_too() -> None:
    bench = Lacking()
    runs = [bench.store.submit() for _ in range(8)]
    async with bench.working(concurrency=2):
        await bench.store.until(lambda: len(bench.store.verdicts) >= len(runs[:2]))
        assert len(bench.tried) == 2
        assert bench.clock.monotonic() < FIRST.total_seconds()
        bench.lacks = False
        await bench.store.until_ended(8)


@leaping
async def test_the_worker_says_with_its_heartbeats_what_it_lacks_and_logs_it_once() -> None:
    bench = Lacking()
    for _ in range(20):
        bench.store.submit()
    with capture_logs() as logged:
        async with bench.working():
            await bench.store.until(lambda: bool(bench.store.beats) and bench.store.beats[-1].trouble == LACK)
            assert bench.clock.monotonic() < FIRST.total_seconds()
            bench.lacks = False
            await bench.store.until_ended(20)
            await bench.store.until(lambda: bench.store.beats[-1].trouble is None)
    assert [each["event"] for each in logged if each["event"].startswith("worker.")] == [
        "worker.exhausted",
        "worker.recovered",
    ]


@leaping
async def test_after_a_quiet_time_the_next_shortage_begins_anew() -> None:
    bench = Lacking()
    for _ in range(2):
        began = len(bench.tried)
        bench.lacks = True
        bench.store.submit()
        await_ended = len(bench.store.ended) + 1
        bench.stop.clear()
        async with bench.working():
            await bench.store.until(lambda began=began: len(bench.tried) > began + 1)  # type: ignore[misc]  # bound now
            assert bench.tried[began + 1] - bench.tried[began] == pytest.approx(FIRST.total_seconds(), abs=0.1)
            bench.lacks = False
            await bench.store.until_ended(await_ended)
            await bench.clock.sleep(2 * QUIET)


@leaping
async def test_a_worker_that_pauses_drains_at_once() -> None:
    bench = Lacking()
    bench.store.submit()
    task = bench.start()
    await bench.store.until(lambda: bool(bench.store.verdicts))
    asked_at = bench.clock.monotonic()
    bench.stop.set()
    await task
    assert bench.clock.monotonic() - asked_at < FIRST.total_seconds()


@leaping
async def test_what_a_users_own_code_lacks_stays_a_failure_of_its_run() -> None:
    """Its handler has begun, and may have had effects: nobody may repeat it for ever without charging anything."""
    bench = Bench()

    @bench.registry.handler("work")
    async def work(_: Any) -> None:
        raise OSError(28, "No space left on device", "/mnt/other/disk")

    run = bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.verdicts))
    verdict = bench.store.last(run)
    assert (verdict.attempt, verdict.failures) == (1, 1)
    assert bench.store.beats[-1].trouble is None if bench.store.beats else True
