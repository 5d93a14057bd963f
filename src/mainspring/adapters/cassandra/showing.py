"""Jobs as people see them: each with the run that it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.jobs import find_job
from mainspring.adapters.cassandra.layout import month_of
from mainspring.adapters.cassandra.looking import by_month
from mainspring.adapters.cassandra.owners import months_of
from mainspring.adapters.cassandra.records import run_of
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.tables import RUN_BY_JOB
from mainspring.adapters.cassandra.values import identity
from mainspring.adapters.one_shots import job_of, prominence
from mainspring.domain.ids import JobId
from mainspring.domain.job import Job, JobState
from mainspring.domain.run import Run, State
from mainspring.ports.views import JobRecord

MOST_LOOKED_AT = 20
"""A job's newest runs among which the one to show is found: an older one is shown only if it is the active one."""
_MONTHS_BEFORE = 1
"""A run's id carries its fire time, which may lie a little before its job was stored."""


@dataclass(frozen=True, slots=True)
class Showing:
    """Finds what to show; remembers the months of owners for as long as one question lasts."""

    context: Context
    _months: dict[str, Sequence[int]] = field(default_factory=dict)

    async def job(self, job_id: UUID) -> JobRecord | None:
        """A standing job, or a one-shot made from its row."""
        stored = await find_job(self.context, job_id)
        if stored is not None:
            return await self.standing(stored.job)
        run = await self.run(job_id)
        return await self.one_shot(run) if run is not None and run.one_shot else None

    async def run(self, run_id: UUID) -> Run | None:
        """A run, unless it was hidden, being a job of its own."""
        return (await self.runs([run_id])).get(run_id)

    async def runs(self, ids: Sequence[UUID]) -> Mapping[UUID, Run]:
        """Those of the runs that are there to be seen."""
        rows = await read(self.context, ids)
        return {run_id: run_of(row) for run_id, row in rows.items() if not row["hidden"]}

    async def standing(self, job: Job) -> JobRecord | None:
        """A standing job with its newest live run, or else its latest; None for one that was deleted."""
        if job.state is JobState.DELETED:
            return None
        active = () if job.active_run is None else (job.active_run,)
        return JobRecord(job=job, run=await self._shown(job.id, job.owner, active))

    async def one_shot(self, run: Run) -> JobRecord:
        """A one-shot job, which may show a retry of the run that it is: only what has ended is ever retried."""
        shown = await self._shown(JobId(run.id), run.owner) if run.state.terminal else None
        return JobRecord(job=job_of(run), run=run if shown is None else max(run, shown, key=prominence))

    async def months(self, owner: str) -> Sequence[int]:
        """The months in which *owner* has anything, newest first."""
        if owner not in self._months:
            self._months[owner] = await months_of(self.context.rows, owner)
        return self._months[owner]

    async def _shown(self, job_id: JobId, owner: str, others: Sequence[UUID] = ()) -> Run | None:
        first = month_of(job_id) - _MONTHS_BEFORE
        months = [month for month in await self.months(owner) if month >= first]
        newest = await by_month(self.context.rows, RUN_BY_JOB, job_id, months)(None, MOST_LOOKED_AT)
        runs = await self.runs([*(identity(row, "id") for row in newest.rows), *others])
        return max((run for run in runs.values() if run.state is not State.SKIPPED), key=prominence, default=None)
