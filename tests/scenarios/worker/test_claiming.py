import asyncio
from datetime import timedelta
from functools import partial
from itertools import pairwise

from mainspring.domain.ids import SessionId
from mainspring.domain.run import State
from mainspring.errors import StoreUnavailable
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping


@leaping
async def test_the_session_names_every_handler_with_its_lane() -> None:
    bench = Bench()
    bench.registry.add("fast", lambda: None)
    bench.registry.add("slow", lambda: None, lane="heavy")
    async with bench.working(concurrency=5):
        await bench.store.until(lambda: bool(bench.store.sessions_opened))
    (session,) = bench.store.sessions_opened
    assert (session.name, session.capacity, session.handlers) == ("worker-1", 5, {"fast": "default", "slow": "heavy"})


@leaping
async def test_only_free_slots_are_claimed_for_while_handlers_are_slow() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await bench.clock.sleep(timedelta(seconds=1))

    for _ in range(40):
        bench.store.submit()
    async with bench.working(concurrency=4):
        await bench.store.until_ended(40)
    assert max(bench.store.claims) == 4


@leaping
async def test_fast_handlers_get_a_prefetch_that_grows_with_their_rate() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await bench.clock.sleep(timedelta(milliseconds=1))

    bench.store.delays["claim"] = timedelta(milliseconds=5)
    for _ in range(5000):
        bench.store.submit()
    async with bench.working(concurrency=32):
        await bench.store.until_ended(5000)
    assert 100 < max(bench.store.claims) <= 4032


@leaping
async def test_a_store_that_answers_late_leaves_no_slot_empty() -> None:
    """As long as it takes no more than two thirds of what the prefetch lasts: here 30 of 50 ms."""
    bench = Bench()
    starts: list[float] = []

    @bench.registry.handler("work")
    async def work() -> None:
        starts.append(bench.clock.monotonic())
        await bench.clock.sleep(timedelta(milliseconds=1))

    bench.store.delays["claim"] = timedelta(milliseconds=30)
    for _ in range(10_000):
        bench.store.submit()
    async with bench.working(concurrency=32):
        await bench.store.until_ended(10_000)
    learnt = starts[4000:9000]
    assert max(later - earlier for earlier, later in pairwise(learnt)) < 0.002


@leaping
async def test_where_all_slots_are_fast_the_prefetch_is_full_after_the_first_look() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work() -> None:
        await bench.clock.sleep(timedelta(milliseconds=1))

    bench.store.delays["claim"] = timedelta(milliseconds=1)
    for _ in range(5000):
        bench.store.submit()
    async with bench.working(concurrency=32, prefetch=timedelta(milliseconds=100)):
        await bench.store.until_ended(5000)
    small, large = bench.store.claims[0], next(claim for claim in bench.store.claims if claim > 32)
    assert (small, large > 500) == (32, True)


@leaping
async def test_a_worker_that_begins_learns_within_moments_how_quick_its_handlers_are() -> None:
    """Once at its start, and again after a lull: what it learnt the first time was forgotten with the slow runs."""
    bench = Bench()

    @bench.registry.handler("work")
    async def work(payload: float) -> None:
        await bench.clock.sleep(timedelta(seconds=payload))

    bench.store.delays["claim"] = timedelta(milliseconds=1)
    async with bench.working(concurrency=32):
        for slow in (0, 32):
            for _ in range(slow):
                bench.store.submit(payload=b"10")
            await bench.store.until_ended(len(bench.store.ended) + slow)
            await bench.clock.sleep(timedelta(seconds=1))
            done, claims, before = len(bench.store.ended), len(bench.store.claims), bench.clock.monotonic()
            for _ in range(2000):
                bench.store.submit(payload=b"0.001")
            await bench.store.until(partial(_claimed_more_than, bench, 100, since=claims))
            assert bench.clock.monotonic() - before < 0.05
            await bench.store.until_ended(done + 2000)


@leaping
async def test_without_a_prefetch_no_more_than_the_slots_is_in_hand() -> None:
    bench = Bench()
    bench.count_calls("work")
    for _ in range(1000):
        bench.store.submit()
    async with bench.working(concurrency=8, prefetch=timedelta(0)):
        await bench.store.until_ended(1000)
    assert max(bench.store.claims) == 8


@leaping
async def test_prefetched_runs_are_given_back_when_no_slot_comes_free() -> None:
    bench = Bench()
    unblocked = asyncio.Event()

    @bench.registry.handler("work")
    async def work(payload: bool) -> None:
        await (unblocked.wait() if payload else bench.clock.sleep(timedelta(milliseconds=1)))

    bench.store.delays["claim"] = timedelta(milliseconds=5)
    for _ in range(4000):
        bench.store.submit(payload=b"false")
    for _ in range(300):
        bench.store.submit(payload=b"true")
    async with bench.working(concurrency=32):
        await bench.store.until(lambda: any(verdict.reason == "no slot came free" for verdict in bench.store.verdicts))
        unblocked.set()
        await bench.store.until_ended(4300)
    assert all(verdict.attempt == 1 for verdict in bench.store.ended.values())


@leaping
async def test_a_signal_wakes_an_idle_worker_before_its_poll() -> None:
    bench = Bench()
    bench.count_calls("work")
    async with bench.working(poll=timedelta(hours=1), ttl=timedelta(days=1)):
        await bench.store.until(lambda: bool(bench.store.claims))
        before = bench.clock.monotonic()
        bench.store.submit()
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() - before < 60


@leaping
async def test_a_lost_signal_costs_a_poll_and_no_more() -> None:
    bench = Bench()
    bench.count_calls("work")
    async with bench.working(poll=timedelta(seconds=1)):
        await bench.store.until(lambda: bool(bench.store.claims))
        before = bench.clock.monotonic()
        bench.store.submit()
        bench.store.notified.clear()
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() - before <= 1.5


@leaping
async def test_a_run_without_its_handler_is_handed_back_for_five_seconds() -> None:
    bench = Bench()
    bench.count_calls("work")
    run = bench.store.submit("elsewhere")
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.verdicts))
    verdict = bench.store.last(run)
    assert (verdict.state, verdict.attempt, verdict.delay) == (State.WAITING, 0, timedelta(seconds=5))
    assert verdict.reason == "the handler 'elsewhere' isn't registered here"


@leaping
async def test_a_run_whose_handler_is_switched_off_here_is_handed_back_with_the_reason() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.registry.switch_off("shell.script", "it is off")
    run = bench.store.submit("shell.script")
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.verdicts))
    assert (bench.store.last(run).state, bench.store.last(run).reason) == (State.WAITING, "it is off")
    (session,) = bench.store.sessions_opened
    assert session.handlers == {"work": "default"}


@leaping
async def test_a_failing_claim_is_tried_again() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.faults["claim"] = [StoreUnavailable("down")] * 8
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)
    assert calls == [1]


@leaping
async def test_runs_of_a_claim_whose_answer_was_lost_are_found_by_two_heartbeats_and_executed_once() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.lost_answers["claim"] = 1
    runs = [bench.store.submit() for _ in range(3)]
    async with bench.working(ttl=timedelta(seconds=15)):
        await bench.store.until_ended(3)
        assert 10 <= bench.clock.monotonic() <= 16
    assert calls == [1, 1, 1]
    assert [bench.store.ended[run].attempt for run in runs] == [1, 1, 1]


@leaping
async def test_a_session_that_is_lost_at_a_claim_is_replaced() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.claims))
        bench.store.bury_session(SessionId(1))
        bench.store.submit()
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() < 5
    assert calls == [1]
    assert len(bench.store.sessions_opened) == 2


@leaping
async def test_nothing_is_claimed_while_two_batches_are_unsettled() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["settle"] = [StoreUnavailable("down")] * 10_000
    for _ in range(1000):
        bench.store.submit()
    async with bench.working(concurrency=10, prefetch_limit=0):
        await bench.clock.sleep(timedelta(minutes=1))
        assert 1000 - len(bench.store.waiting) <= 30
        bench.store.faults.clear()
        await bench.store.until_ended(1000)


def _claimed_more_than(bench: Bench, count: int, *, since: int) -> bool:
    return max(bench.store.claims[since:], default=0) > count
