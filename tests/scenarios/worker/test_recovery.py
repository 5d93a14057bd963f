import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.ids import SessionId
from mainspring.domain.outcome import Lost, Succeeded, judge
from mainspring.domain.run import State
from mainspring.domain.suspects import RESTARTED
from mainspring.errors import StoreUnavailable
from mainspring.ports.journal import Began, Finished, Opened
from mainspring.worker.recovery import Recovery
from mainspring.worker.settings import Ended
from tests.unit.worker.harness import Bench, a_dead_predecessor
from tests.unit.worker.leaps import START, leaping


@leaping
async def test_what_the_predecessor_had_finished_is_settled_and_not_repeated() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    verdict = judge(attempt, Succeeded(result=b"7"), now=START, uniform=0.0)
    bench.journal.notes += [Began(attempt.run_id, attempt.fence), Finished(verdict)]
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.store.ended[run].result == b"7"
    assert calls == []


@leaping
async def test_what_it_had_begun_is_lost_and_what_it_had_only_claimed_is_handed_back() -> None:
    bench = Bench()
    bench.count_calls("work")
    begun, claimed = bench.store.submit(), bench.store.submit()
    attempt = await a_dead_predecessor(bench, begun, claimed)
    bench.journal.notes.append(Began(begun, attempt.fence))
    async with bench.working():
        await bench.store.until_ended(2)
    first = {verdict.run_id: verdict for verdict in reversed(bench.store.verdicts)}
    assert (first[begun].error, first[begun].attempt) == ("attempt lost: the worker was killed", 1)
    assert bench.incidents.noted == [("failed", begun, State.WAITING)]
    assert (first[claimed].error, first[claimed].attempt) == (None, 0)


@leaping
@pytest.mark.parametrize(("count", "losses"), [(1, 1), (2, 0)])
async def test_what_it_had_begun_is_charged_if_the_session_held_nothing_else(count: int, losses: int) -> None:
    bench = Bench()
    bench.count_calls("work")
    runs = [bench.store.submit() for _ in range(count)]
    attempt = await a_dead_predecessor(bench, *runs)
    bench.journal.notes.append(Began(runs[0], attempt.fence))
    async with bench.working():
        await bench.store.until_ended(count)
    assert next(verdict.losses for verdict in bench.store.verdicts if verdict.run_id == runs[0]) == losses


@leaping
async def test_a_recovery_that_is_broken_off_charges_nobody_for_what_was_shared() -> None:
    """The first life of the successor has rescued one of two; the journal still says that there were two."""
    bench = Bench()
    bench.count_calls("work")
    runs = [bench.store.submit() for _ in range(2)]
    attempt = await a_dead_predecessor(bench, *runs)
    bench.journal.notes += [Began(run, attempt.fence) for run in runs]
    await bench.store.settle([judge(attempt, Lost(shared=RESTARTED), now=START, uniform=0.0)])
    async with bench.working():
        await bench.store.until_ended(2)
    assert {verdict.losses for verdict in bench.store.verdicts} == {0}


@leaping
async def test_runs_that_kill_their_worker_again_and_again_run_alone_after_the_fourth_restart() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    runs = [bench.store.submit() for _ in range(2)]
    for _ in range(4):
        attempt = await a_dead_predecessor(bench, *runs)
        bench.journal.notes += [Began(run, attempt.fence) for run in runs]
        assert not bench.store.runs[runs[0]].suspect
        await Recovery(bench.ports()).run()
    assert all(bench.store.runs[run].suspect for run in runs)
    async with bench.working():
        await bench.store.until_ended(2)
    assert calls == [5, 5]


@leaping
async def test_what_the_store_refuses_is_kept_and_keeps_nobody_from_starting() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    finished = Finished(judge(attempt, Succeeded(result=b"7"), now=START, uniform=0.0))
    bench.journal.notes += [Began(attempt.run_id, attempt.fence), finished]
    bench.store.refused = {run}
    async with bench.working():
        other = bench.store.submit()
        await bench.store.until_ended(1)
        assert set(bench.store.ended) == {other}
        assert finished in bench.journal.notes
        bench.store.refused = set()
        await bench.store.until_ended(2)
    assert bench.store.ended[run].result == b"7"
    assert calls == [1]


@leaping
async def test_the_old_session_is_closed_before_the_new_one_is_opened() -> None:
    bench = Bench()
    await a_dead_predecessor(bench, bench.store.submit())
    bench.count_calls("work")
    async with bench.working():
        await bench.store.until(lambda: len(bench.store.sessions_opened) == 2)
        assert bench.store.closed == [SessionId(1)]
        assert bench.journal.notes[0] == Opened(SessionId(2))


@leaping
async def test_a_verdict_that_the_store_knows_already_does_no_harm() -> None:
    bench = Bench()
    run = bench.store.submit()
    attempt = await a_dead_predecessor(bench, run)
    verdict = judge(attempt, Succeeded(), now=START, uniform=0.0)
    await bench.store.settle([verdict])
    bench.journal.notes.append(Finished(verdict))
    async with bench.working():
        await bench.store.until(lambda: len(bench.store.sessions_opened) == 2)
    assert [each.state for each in bench.store.verdicts] == [State.SUCCEEDED]


@leaping
async def test_the_journal_is_kept_until_the_store_has_answered_everything() -> None:
    bench = Bench()
    attempt = await a_dead_predecessor(bench, bench.store.submit())
    notes = [*bench.journal.notes, Finished(judge(attempt, Succeeded(), now=START, uniform=0.0))]
    bench.journal.notes = list(notes)
    bench.store.faults["close"] = [StoreUnavailable("down")] * 3
    async with bench.working():
        await bench.store.until(lambda: not bench.store.faults["close"])
        assert bench.journal.notes == notes
        await bench.store.until(lambda: len(bench.store.sessions_opened) == 2)
        assert notes[1] not in bench.journal.notes


@leaping
async def test_a_store_that_is_down_at_the_start_is_waited_for() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["open"] = [StoreUnavailable("down")] * 20
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)


@leaping
async def test_a_worker_that_waits_for_the_store_can_be_stopped() -> None:
    bench = Bench()
    bench.store.faults["open"] = [StoreUnavailable("down")] * 10_000
    worker = bench.start()
    await bench.clock.sleep(timedelta(minutes=1))
    bench.stop.set()
    assert await worker is Ended.ASKED


@leaping
async def test_a_killed_worker_leaves_a_journal_that_its_successor_understands() -> None:
    bench = Bench()
    started = asyncio.Event()

    @bench.registry.handler("work")
    async def work(payload: str) -> str:
        if payload == "hang":
            started.set()
            await asyncio.Event().wait()
        return payload

    bench.store.faults["settle"] = [StoreUnavailable("down")] * 10_000
    finished, hung = bench.store.submit(payload=b'"quick"'), bench.store.submit(payload=b'"hang"')
    async with bench.killed():
        await started.wait()
        await bench.clock.sleep(timedelta(seconds=1))
    bench.store.faults.clear()
    bench.stop.clear()
    started.clear()
    async with bench.working():
        await started.wait()
        assert bench.store.ended[finished].result == b'"quick"'
        assert bench.store.last(hung).losses == 1
        bench.hurry.set()
