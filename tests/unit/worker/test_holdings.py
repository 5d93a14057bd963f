import asyncio

from mainspring.domain.ids import SessionId
from mainspring.ports.sessions import Heard
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor
from mainspring.worker.holdings import Holdings
from mainspring.worker.notebook import Notebook
from mainspring.worker.printing import Printer
from mainspring.worker.settings import WorkerSettings
from mainspring.worker.shortage import Shortage
from tests.unit.worker.harness import Bench, an_attempt
from tests.unit.worker.leaps import leaping

SETTINGS = WorkerSettings(name="worker-1", concurrency=4)


def the_holdings(bench: Bench) -> Holdings:
    ports = bench.ports()
    printer = Printer(ports.output, ports.clock, asyncio.get_running_loop())
    shortage = Shortage(ports.clock, ports.observer, lambda: None)
    executor = Executor(SETTINGS, ports, bench.registry, Notebook(bench.journal), printer, shortage=shortage)
    executor.session = SessionId(1)
    claims = Claims(SETTINGS, ports, bench.registry, executor, session_lost=lambda _: None)
    return Holdings(ports.sessions, executor, claims)


@leaping
async def test_heartbeats_that_piled_up_while_the_loop_was_blocked_find_a_stray_once() -> None:
    """Taken up again for each of them, a stray could be done and settled before the second reading was answered, and
    would have been executed twice (found by seed 1324 of the simulation)."""
    bench = Bench()
    bench.count_calls("work")
    holdings = the_holdings(bench)
    attempt = an_attempt()
    heard = Heard(held={attempt.run_id: attempt.fence}, cancelling=frozenset())
    answers = [holdings.hear(heard, asked_at=float(second)) for second in range(6)]
    assert [len(strays) for strays in answers] == [0, 1, 0, 0, 0, 0]


@leaping
async def test_strays_are_looked_for_again_once_they_were_read() -> None:
    bench = Bench()
    bench.count_calls("work")
    holdings = the_holdings(bench)
    attempt = an_attempt()
    heard = Heard(held={attempt.run_id: attempt.fence}, cancelling=frozenset())
    holdings.hear(heard, asked_at=1.0)
    strays = holdings.hear(heard, asked_at=2.0)
    await holdings.take_up(SessionId(1), strays)
    assert holdings.hear(heard, asked_at=3.0) == strays
