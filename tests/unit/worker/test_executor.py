import asyncio
from typing import Any

from mainspring.domain.ids import Fence, SessionId
from mainspring.domain.run import State
from mainspring.worker.claims import Claims
from mainspring.worker.context import Context
from mainspring.worker.executing import Executor
from mainspring.worker.execution import Cause
from mainspring.worker.notebook import Notebook
from mainspring.worker.printing import Printer
from mainspring.worker.settings import WorkerSettings
from mainspring.worker.shortage import Shortage
from tests.unit.worker.harness import Bench, an_attempt
from tests.unit.worker.leaps import leaping

SETTINGS = WorkerSettings(name="worker-1", concurrency=4)


def an_executor(bench: Bench) -> Executor:
    ports = bench.ports()
    printer = Printer(ports.output, ports.clock, asyncio.get_running_loop())
    shortage = Shortage(ports.clock, ports.observer, lambda: None)
    executor = Executor(SETTINGS, ports, bench.registry, Notebook(bench.journal), printer, shortage=shortage)
    executor.session = SessionId(1)
    return executor


def hang_noting_fences(bench: Bench) -> list[str]:
    events: list[str] = []

    @bench.registry.handler("work")
    async def hang(_: Any, context: Context) -> None:
        events.append(f"began {context.fence}")
        try:
            await asyncio.Event().wait()
        finally:
            events.append(f"ended {context.fence}")

    return events


@leaping
async def test_a_run_that_is_stopped_before_its_first_step_is_reported_and_never_called() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    executor = an_executor(bench)
    attempt = an_attempt()
    executor.accept([attempt])
    executor._turn()
    execution = executor.find(attempt.run_id)
    assert execution is not None
    executor.stop(execution, Cause.DRAIN)
    await asyncio.sleep(1)
    assert calls == []
    assert executor.in_hand == 0
    assert [(verdict.state, verdict.attempt) for verdict in executor.settler.unsettled] == [(State.WAITING, 0)]


@leaping
async def test_a_run_that_comes_back_under_a_newer_fence_replaces_itself() -> None:
    bench = Bench()
    events = hang_noting_fences(bench)
    executor = an_executor(bench)
    executor.accept([an_attempt()])
    await asyncio.sleep(1)
    executor.accept([an_attempt(fence=Fence(2))])
    await asyncio.sleep(1)
    assert events == ["began 1", "ended 1", "began 2"]
    assert (len(executor.executing), len(executor.leaving), executor.settler.backlog) == (1, 0, 0)


@leaping
async def test_of_two_fences_in_one_turn_only_the_newer_is_called() -> None:
    bench = Bench()
    events = hang_noting_fences(bench)
    executor = an_executor(bench)
    executor.accept([an_attempt(), an_attempt(fence=Fence(2)), an_attempt(fence=Fence(2))])
    await asyncio.sleep(1)
    assert events == ["began 2"]
    assert (len(executor.executing), len(executor.leaving), executor.settler.backlog) == (1, 0, 0)


@leaping
async def test_a_run_that_is_taken_away_leaves_its_slot_when_it_has_ended() -> None:
    bench = Bench()
    events = hang_noting_fences(bench)
    executor = an_executor(bench)
    executor.accept([an_attempt()])
    await asyncio.sleep(1)
    execution = executor.find(an_attempt().run_id)
    assert execution is not None
    executor.take_away(execution)
    assert executor.slots == 3
    await asyncio.sleep(1)
    assert executor.slots == 4
    assert events == ["began 1", "ended 1"]
    assert executor.settler.backlog == 0


@leaping
async def test_a_run_that_was_flagged_before_it_was_claimed_is_cancelled_without_a_call() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    executor = an_executor(bench)
    executor.accept([an_attempt(cancelling=True)])
    await asyncio.sleep(1)
    assert calls == []
    assert [verdict.state for verdict in executor.settler.unsettled] == [State.CANCELLED]


@leaping
async def test_a_busy_loop_claims_nothing_until_it_is_free_again() -> None:
    bench = Bench()
    bench.count_calls("work")
    executor = an_executor(bench)
    claims = Claims(SETTINGS, bench.ports(), bench.registry, executor, session_lost=lambda _: None)
    claims.session = SessionId(1)
    bench.store.alive.add(SessionId(1))
    claims.held_up = True
    step = asyncio.ensure_future(claims.step())
    await asyncio.sleep(10)
    assert bench.store.claims == []
    claims.held_up = False
    executor.changed.set()
    await step
    assert bench.store.claims == [4]


@leaping
async def test_a_run_that_is_handed_over_twice_under_one_fence_goes_on_undisturbed() -> None:
    bench = Bench()
    events = hang_noting_fences(bench)
    executor = an_executor(bench)
    executor.accept([an_attempt()])
    await asyncio.sleep(1)
    executor.accept([an_attempt()])
    await asyncio.sleep(1)
    assert events == ["began 1"]
