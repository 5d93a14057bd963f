"""Several processes with whole stores on the same rows."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.layout import SHARDS, micros
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.domain.ids import DEFAULT_LANE, JobId, RunId, SessionId
from mainspring.domain.outcome import Lost, Outcome, Settled, Succeeded, judge
from mainspring.domain.run import Attempt, NewRun
from mainspring.testing.clock import START, ManualClock
from mainspring.testing.factories import Factory, a_session, a_task
from mainspring.testing.rows.dictionary import Dictionary, DictionaryRows
from mainspring.testing.virtual_time import SeededRandom
from tests.unit.adapters.cassandra.faults import FaultyRows

LANES = (DEFAULT_LANE,)
TTL = timedelta(seconds=15)
AFTER_AN_AUDIT = timedelta(minutes=8)
HOME = 3


def neighbours(count: int) -> list[NewRun]:
    """Runs that lie in one home."""
    first = micros(START) // 1000 << 80 | 0x7 << 76 | 0b10 << 62 | HOME
    ids = [UUID(int=first + number * SHARDS) for number in range(count)]
    return [NewRun(id=RunId(each), job_id=JobId(each), task=a_task()) for each in ids]


@dataclass
class Process:
    """A worker, and the rows as it sees them."""

    store: CassandraStore
    rows: FaultyRows

    async def session(self, name: str = "worker", **fields: Any) -> SessionId:
        return await self.store.sessions.open(a_session(name, **fields))

    async def claim(self, by: SessionId, limit: int = 100) -> Sequence[Attempt]:
        return (await self.store.work.claim(by, LANES, limit)).attempts

    async def settle(self, attempt: Attempt, outcome: Outcome) -> Settled:
        verdict = judge(attempt, outcome, now=attempt.started_at, uniform=0.0)
        (answer,) = await self.store.work.settle([verdict])
        return answer

    async def rescue(self) -> None:
        """What a rescuer does in one round."""
        for session in await self.store.sessions.bury(100):
            for attempt in await self.store.sessions.held(session, 100):
                await self.settle(attempt, Lost())
        await self.store.sessions.audit()


@dataclass
class Cluster:
    """The rows, which outlive every process."""

    clock: ManualClock = field(default_factory=ManualClock)
    dictionary: Dictionary = field(default_factory=Dictionary)
    make: Factory = field(default_factory=Factory)
    processes: int = 0

    def process(self, **faults: Any) -> Process:
        """One more process."""
        self.processes += 1
        rows = FaultyRows(DictionaryRows(self.dictionary, self.clock), **faults)
        return Process(CassandraStore.over(rows, clock=self.clock, random=SeededRandom(self.processes)), rows)


async def a_trusting_worker(cluster: Cluster) -> tuple[Process, SessionId]:
    """Who has found at this home that nobody else takes from it, and looks up nothing in advance."""
    process = cluster.process()
    worker = await process.session()
    *_, first = neighbours(1_000)
    await process.store.work.add([first])
    (attempt,) = await process.claim(worker)
    assert await process.settle(attempt, Succeeded()) is Settled.ACCEPTED
    return process, worker


async def claimed_and_settled(process: Process, session: SessionId, limit: int) -> int:
    """How many were to be had."""
    attempts = await process.claim(session, limit)
    verdicts = [judge(attempt, Succeeded(), now=attempt.started_at, uniform=0.0) for attempt in attempts]
    await process.store.work.settle(verdicts)
    return len(attempts)


async def everybody_has_had_a_turn() -> None:
    """Return when whoever waits for nothing but rows, which answer at once, has gone as far as he can."""
    for _ in range(200):
        await asyncio.sleep(0)
