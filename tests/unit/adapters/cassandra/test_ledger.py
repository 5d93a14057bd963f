"""The ledger is written behind the backs of those who claim and settle, and everybody who must know waits for it."""

import asyncio
from collections.abc import Sequence

import pytest

from mainspring.adapters.cassandra.rows import Put
from mainspring.adapters.cassandra.tables import CHANGE, TALLY
from mainspring.domain.outcome import Succeeded
from mainspring.domain.run import State
from mainspring.errors import StoreUnavailable
from tests.unit.adapters.cassandra.cluster import Cluster, Process, everybody_has_had_a_turn, neighbours


class SlowLedger:
    """Holds back what is written to the log until it is told to go on."""

    def __init__(self, process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.writes = 0
        self._put = process.rows.put
        monkeypatch.setattr(process.rows, "put", self._slowly)

    async def _slowly(self, puts: Sequence[Put]) -> None:
        if {put.table for put in puts} & {CHANGE, TALLY}:
            self.begun.set()
            await self.go_on.wait()
            self.writes += 1
        await self._put(puts)


async def ended(process: Process) -> int:
    figures = await process.store.views.figures()
    return sum(tally.ended.get(State.SUCCEEDED, 0) for tally in figures.tallies)


async def test_nobody_waits_for_the_log_and_figures_of_the_same_process_do(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(1))
    session = await process.session()
    log = SlowLedger(process, monkeypatch)
    (attempt,) = await process.claim(session)
    await process.settle(attempt, Succeeded())
    asking = asyncio.ensure_future(ended(process))
    await log.begun.wait()
    await everybody_has_had_a_turn()
    assert (log.writes, asking.done()) == (0, False)
    log.go_on.set()
    assert await asking == 1


async def test_what_happens_during_a_write_is_written_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(5))
    session = await process.session()
    log = SlowLedger(process, monkeypatch)
    attempts = await process.claim(session)
    await log.begun.wait()
    for attempt in attempts:
        await process.settle(attempt, Succeeded())
    log.go_on.set()
    await process.store.close()
    assert (log.writes, await ended(cluster.process())) == (2, 5)


async def test_a_write_that_fails_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(2))
    session = await process.session()

    async def fail(_: Sequence[Put]) -> None:
        raise StoreUnavailable("nobody answers")

    first, second = await process.claim(session)
    with monkeypatch.context() as patched:
        patched.setattr(process.rows, "put", fail)
        await process.settle(first, Succeeded())
        await process.store.close()
    await process.settle(second, Succeeded())
    await process.store.close()
    assert await ended(cluster.process()) == 2
