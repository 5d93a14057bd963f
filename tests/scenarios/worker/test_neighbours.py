"""What a worker does with the notes of those that died beside it."""

from datetime import timedelta

from mainspring.domain.outcome import Failed, Succeeded, judge
from mainspring.domain.run import Attempt
from mainspring.errors import StoreUnavailable
from mainspring.ports.journal import Orphan
from mainspring.worker.heartbeat import BEATS_PER_TTL
from tests.unit.worker.harness import Bench, a_dead_predecessor
from tests.unit.worker.leaps import START, leaping


def orphaned(*attempts: Attempt) -> Orphan:
    finished = [judge(each, Succeeded(result=b"7"), now=START, uniform=0.0) for each in attempts]
    return Orphan(name="worker-2", finished=finished)


@leaping
async def test_what_is_there_at_the_start_is_settled_before_anything_is_claimed() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    bench.journal.notes.clear()
    bench.journal.left = [orphaned(attempt)]
    async with bench.working():
        await bench.store.until_ended(1)
        assert bench.store.sessions_opened[1:] == []
    assert bench.store.ended[run].result == b"7"
    assert calls == []
    assert not bench.journal.orphans()


@leaping
async def test_what_comes_later_is_settled_soon_and_the_dead_workers_session_stays_open() -> None:
    bench = Bench()
    bench.count_calls("work")
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    bench.journal.notes.clear()
    async with bench.working():
        await bench.clock.sleep(timedelta(seconds=20))
        bench.journal.left = [orphaned(attempt)]
        died_at = bench.clock.monotonic()
        await bench.store.until_ended(1)
        assert bench.clock.monotonic() - died_at <= 15 / BEATS_PER_TTL
        assert attempt.session in bench.store.alive
    assert attempt.session not in bench.store.closed


@leaping
async def test_a_store_that_is_away_is_waited_for() -> None:
    bench = Bench()
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    bench.journal.notes.clear()
    bench.journal.left = [orphaned(attempt)]
    bench.store.faults["settle"] = [StoreUnavailable("away") for _ in range(6)]
    async with bench.working():
        await bench.store.until_ended(1)
    assert not bench.journal.orphans()


@leaping
async def test_what_the_store_refuses_is_left_and_the_rest_is_settled() -> None:
    bench = Bench()
    first, second = bench.store.submit(), bench.store.submit()
    attempt = await a_dead_predecessor(bench, first, second)
    bench.journal.notes.clear()
    orphan = orphaned(attempt, bench.store.runs[second])
    bench.journal.left = [orphan]
    bench.store.refused = {first}
    async with bench.working():
        await bench.store.until_ended(1)
        await bench.clock.sleep(timedelta(seconds=1))
    assert set(bench.store.ended) == {second}
    assert [each.run_id for each in bench.journal.left[0].finished] == [first]


@leaping
async def test_a_failure_that_was_noted_is_charged_once_and_tried_again() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    bench.journal.notes.clear()
    failed = judge(attempt, Failed(error="no"), now=START, uniform=0.0)
    bench.journal.left = [Orphan(name="worker-2", finished=[failed])]
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.verdicts))
    assert (bench.store.last(run).failures, bench.store.last(run).attempt) == (1, 1)
    assert calls == []
