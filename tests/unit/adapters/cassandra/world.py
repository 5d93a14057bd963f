"""Several processes on one timetable, and what anybody can see of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.jobs import Stored, find_job, store_job
from mainspring.adapters.cassandra.layout import EVERYTHING, month_of, slot_of
from mainspring.adapters.cassandra.listing import Entry, Place, entry_of
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.tables import DUE, RUN_BY_JOB, TIMETABLE, TIMETABLE_SLOT
from mainspring.adapters.cassandra.timetable import CassandraTimetable
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import JobId
from mainspring.domain.job import Job, JobState
from mainspring.domain.plan import plan
from mainspring.domain.run import State
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory
from mainspring.testing.rows.dictionary import Dictionary, DictionaryRows
from mainspring.testing.virtual_time import SeededRandom
from tests.unit.adapters.cassandra.faults import FaultyRows

PERIOD = timedelta(minutes=5)
MOST = 10_000


@dataclass
class Process:
    """A process with a planner."""

    rows: FaultyRows
    context: Context
    timetable: CassandraTimetable

    async def plan(self, shards: frozenset[int] | None = None) -> None:
        """What a planner of *shards* does in one step."""
        due = await self.timetable.due(100, shards)
        await self.timetable.fire([plan(item, due.now) for item in due.jobs])


@dataclass
class World:
    """The rows, which outlive every process."""

    clock: ManualClock = field(default_factory=ManualClock)
    dictionary: Dictionary = field(default_factory=Dictionary)
    make: Factory = field(default_factory=Factory)
    processes: int = 0

    def process(self, **faults: Any) -> Process:
        """One more process."""
        self.processes += 1
        rows = FaultyRows(DictionaryRows(self.dictionary, self.clock), **faults)
        context = Context.over(rows, clock=self.clock, random=SeededRandom(self.processes))
        return Process(rows, context, CassandraTimetable(context))

    async def job(self, **fields: Any) -> Job:
        """A stored job that fires every five minutes, now for the first time."""
        new = self.make.new_job(**{"fires_at": self.clock.now(), "created_at": self.clock.now(), **fields})
        await store_job(self.process().context, new, self.clock.now())
        return new.job

    async def stored(self, job_id: JobId) -> Stored:
        """The job as it stands."""
        stored = await find_job(self.process().context, job_id)
        assert stored is not None
        return stored

    async def read(self, job_id: JobId) -> Job:
        """The job as anybody reads it."""
        return (await self.stored(job_id)).job

    async def runs(self, job_id: JobId) -> Sequence[Row]:
        """The runs of a job and its skipped ranges, as rows."""
        context = self.process().context
        listed = await context.rows.slice(RUN_BY_JOB, (job_id, month_of(job_id)), limit=MOST)
        found = await read(context, [identity(row, "id") for row in listed])
        return sorted(found.values(), key=lambda row: number(row, "due_at"))

    async def findable(self, row: Row) -> bool:
        """Whether an entry leads a claim to a run."""
        partition = (row["shard"], text(row, "lane"), slot_of(number(row, "indexed_at")))
        return bool(
            await self.process().context.rows.get(DUE, partition, [(row["indexed_at"], row["id"], row["fence"])])
        )

    async def places(self) -> Sequence[Place]:
        """The minutes in the timetable's directory."""
        rows = await self.process().context.rows.slice(TIMETABLE_SLOT, (EVERYTHING,), limit=MOST)
        return [Place(number(row, "slot"), number(row, "part")) for row in rows]

    async def entries(self) -> Sequence[Entry]:
        """All that is listed in the timetable."""
        rows = self.process().context.rows
        return [
            entry_of(row)
            for place in await self.places()
            for row in await rows.slice(TIMETABLE, place.partition, limit=MOST)
        ]

    async def states(self, job_id: JobId) -> list[State]:
        """How the runs of a job stand, by their moments."""
        return [state_of(row) for row in await self.runs(job_id)]


def paused(job: Job) -> Job:
    """The job as a person pauses it."""
    return replace(job, state=JobState.PAUSED, wake_at=None)


def ids(rows: Sequence[Row]) -> set[UUID]:
    """Of runs."""
    return {identity(row, "id") for row in rows}
