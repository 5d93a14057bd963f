import asyncio
import threading
from datetime import timedelta
from typing import Any

import structlog

from mainspring.adapters.system.tasks import SystemTasks
from mainspring.domain.ids import SessionId
from mainspring.errors import StoreUnavailable
from mainspring.worker import heartbeat
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping


@leaping
async def test_the_session_lives_by_a_beat_every_third_of_its_time() -> None:
    bench = Bench()
    bench.count_calls("work")
    async with bench.working(ttl=timedelta(seconds=15)):
        await bench.clock.sleep(timedelta(seconds=61))
        assert len(bench.store.beats) == 12
        assert all(news.clock is not None for news in bench.store.beats)


@leaping
async def test_a_failing_beat_is_repeated_before_the_next_is_due() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["beat"] = [StoreUnavailable("down")] * 2
    async with bench.working(ttl=timedelta(seconds=15)):
        await bench.store.until(lambda: bool(bench.store.beats))
        assert bench.clock.monotonic() <= 6.5


@leaping
async def test_a_lost_session_drops_everything_and_goes_on_under_a_new_one() -> None:
    bench = Bench()
    stopped: list[Any] = []

    @bench.registry.handler("work")
    async def work(payload: Any) -> Any:
        if payload == "hang":
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(payload)
        return payload

    held = bench.store.submit(payload=b'"hang"')
    async with bench.working():
        await asyncio.sleep(1)
        bench.store.bury_session(SessionId(1))
        await bench.store.until(lambda: len(bench.store.sessions_opened) == 2)
        done = bench.store.submit(payload=b'"quick"')
        await bench.store.until_ended(1)
    assert stopped == ["hang"]
    assert list(bench.store.ended) == [done]
    assert all(verdict.run_id != held for verdict in bench.store.verdicts)


@leaping
async def test_verdicts_outlive_the_session_that_they_were_reached_in() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["settle"] = [StoreUnavailable("down")] * 8
    run = bench.store.submit()
    async with bench.working():
        await asyncio.sleep(1)
        bench.store.bury_session(SessionId(1))
        await bench.store.until(lambda: run in bench.store.ended)


@leaping
async def test_a_run_that_was_taken_away_is_stopped_and_nothing_is_said_about_it() -> None:
    bench = Bench()
    stopped = asyncio.Event()

    @bench.registry.handler("work")
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    run = bench.store.submit()
    async with bench.working(ttl=timedelta(seconds=15)):
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.take_from_holder(run)
        await stopped.wait()
        assert 10 <= bench.clock.monotonic() <= 10.6
    assert bench.store.verdicts == []


@leaping
async def test_one_heartbeat_that_misses_a_run_proves_nothing() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await bench.clock.sleep(timedelta(seconds=18))

    run = bench.store.submit()
    async with bench.working(ttl=timedelta(seconds=15)):
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.unseen.add(run)
        await bench.store.until(lambda: len(bench.store.beats) == 1)
        bench.store.unseen.clear()
        await bench.store.until_ended(1)
    assert bench.store.ended[run].error is None


@leaping
async def test_a_heartbeat_that_cannot_connect_tries_again() -> None:
    bench = Bench()
    attempts = 0

    def connect() -> Any:
        nonlocal attempts
        attempts += 1
        raise StoreUnavailable("down")

    ports = bench.ports()
    ports = type(ports)(**{name: getattr(ports, name) for name in type(ports).__slots__} | {"heartbeat": connect})
    bench.ports = lambda: ports  # type: ignore[method-assign]  # the same ports but for one
    bench.count_calls("work")
    async with bench.working():
        await bench.clock.sleep(timedelta(seconds=10))
    assert attempts > 10


async def test_a_blocked_loop_keeps_its_session_but_gets_no_work_and_shows_where_it_hangs(monkeypatch: Any) -> None:
    monkeypatch.setattr(heartbeat, "TICK", timedelta(milliseconds=5))
    monkeypatch.setattr(heartbeat, "BUSY_AFTER", 0.02)
    monkeypatch.setattr(heartbeat, "BLOCKED_AFTER", 0.05)
    bench = Bench()
    bench.tasks = SystemTasks(2)  # type: ignore[assignment]  # a real thread for the heartbeat
    shown = threading.Event()
    beats: list[int] = []

    @bench.registry.handler("work")
    async def block_the_loop() -> None:
        before = len(bench.store.beats)
        assert shown.wait(30)
        while len(bench.store.beats) < before + 2:
            threading.Event().wait(0.001)
        beats.append(len(bench.store.beats) - before)

    def show(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        events.append(event["event"])
        if event["event"] == "loop.free":
            free.set()
        if event["event"] == "loop.blocked":
            stacks.append(event["stack"])
            shown.set()
        return event

    stacks: list[str] = []
    events: list[str] = []
    free = threading.Event()
    configured = structlog.get_config()["processors"]
    monkeypatch.setattr(
        heartbeat, "log", structlog.wrap_logger(structlog.PrintLogger(), processors=[show, *configured])
    )
    bench.store.submit()
    async with bench.working(ttl=timedelta(milliseconds=30)):
        await bench.store.until_ended(1)
        assert beats
        assert beats[0] >= 2
        assert "block_the_loop" in stacks[0]
        bench.store.submit("work")
        await bench.store.until_ended(2)
        assert await asyncio.to_thread(free.wait, 30)
    assert events[:2] == ["loop.busy", "loop.blocked"]
