"""Several processes with whole stores on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.domain.ids import DEFAULT_LANE, SessionId
from mainspring.domain.outcome import Lost, Outcome, Settled, judge
from mainspring.domain.run import Attempt
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory, a_session
from mainspring.testing.rows.dictionary import Dictionary, DictionaryRows
from mainspring.testing.virtual_time import SeededRandom
from tests.unit.adapters.cassandra.faults import FaultyRows

LANES = (DEFAULT_LANE,)
TTL = timedelta(seconds=15)
AFTER_AN_AUDIT = timedelta(minutes=8)


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
