"""A worker that is asked to drain from afar, while its process goes on."""

import asyncio
from datetime import timedelta
from typing import Any

from mainspring.domain.ids import SessionId
from mainspring.domain.run import State
from mainspring.worker.executing import DRAINING
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping

BEAT = timedelta(seconds=5)


def says_drained(bench: Bench) -> bool:
    return bool(bench.store.beats) and bench.store.beats[-1].drained


@leaping
async def test_what_executes_may_end_while_nothing_new_is_claimed_and_the_session_lives_on() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await bench.clock.sleep(timedelta(minutes=1))

    run = bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: not bench.store.waiting)
        bench.store.draining = True
        await bench.clock.sleep(BEAT * 2)
        late = bench.store.submit()
        await bench.store.until(lambda: run in bench.store.ended)
        assert bench.store.ended[run].state is State.SUCCEEDED
        assert not any(news.drained for news in bench.store.beats)
        await bench.store.until(lambda: says_drained(bench))
        assert bench.clock.monotonic() < 62
        await bench.clock.sleep(timedelta(hours=1))
        assert (bench.store.waiting, bench.store.closed) == ([late], [])
    assert bench.store.closed == [1]


@leaping
async def test_a_worker_that_is_resumed_claims_at_once() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.draining = True
    async with bench.working():
        await bench.store.until(lambda: says_drained(bench))
        late = bench.store.submit()
        await bench.clock.sleep(timedelta(minutes=1))
        assert calls == []
        bench.store.draining = False
        beats = len(bench.store.beats)
        await bench.store.until(lambda: late in bench.store.ended)
        assert len(bench.store.beats) <= beats + 1
        await bench.store.until(lambda: not says_drained(bench))


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
    async with bench.working(concurrency=8):
        await slots.wait()
        bench.store.draining = True
        bench.store.summoned.set()
        await bench.store.until(lambda: any(each.reason == DRAINING for each in bench.store.verdicts))
        assert all(each.attempt == 0 for each in bench.store.verdicts if each.reason == DRAINING)
        unblocked.set()
        await bench.store.until(lambda: says_drained(bench))
        assert sum(run in bench.store.ended for run in blocked) == 8
        assert len(bench.store.ended) + len(bench.store.waiting) == 4200


@leaping
async def test_a_claim_that_is_answered_after_the_wish_is_handed_back() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.draining = True
    bench.store.delays["claim"] = BEAT * 2
    run = bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: says_drained(bench))
        assert (calls, bench.store.waiting) == ([], [run])
        assert bench.store.last(run).reason == DRAINING


@leaping
async def test_what_a_lost_answer_handed_over_is_handed_back_before_anybody_says_drained() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.lost_answers["claim"] = 1
    bench.store.delays["claim"] = BEAT
    run = bench.store.submit()
    bench.store.draining = True
    async with bench.working():
        await bench.store.until(lambda: says_drained(bench))
        assert (calls, bench.store.waiting) == ([], [run])
        assert bench.store.last(run).reason == DRAINING


@leaping
async def test_a_signal_brings_the_wish_before_the_next_heartbeat() -> None:
    bench = Bench()
    bench.count_calls("work")
    async with bench.working(ttl=timedelta(minutes=30)):
        await bench.clock.sleep(timedelta(seconds=1))
        bench.store.draining = True
        bench.store.summoned.set()
        await bench.store.until(lambda: says_drained(bench))
        assert bench.clock.monotonic() < 4


@leaping
async def test_a_draining_worker_that_loses_its_session_goes_on_draining_in_the_next() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.draining = True
    async with bench.working():
        await bench.store.until(lambda: says_drained(bench))
        late = bench.store.submit()
        bench.store.bury_session(SessionId(1))
        await bench.store.until(lambda: len(bench.store.sessions_opened) == 2)
        assert [each.draining for each in bench.store.sessions_opened] == [False, True]
        await bench.clock.sleep(timedelta(minutes=1))
        assert bench.store.waiting == [late]
