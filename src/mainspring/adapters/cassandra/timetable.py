"""The Timetable port: one compare-and-set on the job's row decides, and says in a document what follows from it.

0. What the last decision left undone is finished.
1. The job is listed where the planner will have to look next.
2. The row changes, if it is as it was read: this is the decision.
3. The document is carried out, which anybody may repeat.
4. The entry that led here is removed: from now on nobody looks for something undone.
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.firing import fire
from mainspring.adapters.cassandra.jobs import Stored
from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.listing import shard_of
from mainspring.adapters.cassandra.lookout import ALL, Lookout, Sight
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.saving import save
from mainspring.domain.job import Job
from mainspring.domain.plan import Advance, DueJob, Skip
from mainspring.ports.timetable import Due

_AT_ONCE = timedelta(0)


class CassandraTimetable:
    """Due is what the clock of this process says; what is fired is nobody's clock's business."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lookout = Lookout(context)

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """Edit, pause, resume or delete what was read as *expected*."""
        try:
            return await save(self._context, job, expected, skips)
        finally:
            self._lookout.forget()

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:
        """Active jobs whose wake time has come, longest waiting first."""
        sight = await self._lookout.look(limit, ALL if shards is None else shards)
        chosen = sorted(sight.jobs, key=_waiting_since)[:limit]
        jobs = await self._with_active_runs([stored.job for stored in chosen])
        return Due(jobs=jobs, now=instant(sight.now), next_in=_next_in(sight))

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """Apply each advance whole, once, if its job is as expected."""
        if not advances:
            return []
        try:
            return await abreast(partial(fire, self._context), advances)
        finally:
            self._lookout.forget()

    async def _with_active_runs(self, jobs: Sequence[Job]) -> Sequence[DueJob]:
        found = await read(self._context, [job.active_run for job in jobs if job.active_run is not None])
        states = {run_id: state_of(row) for run_id, row in found.items()}
        return [
            DueJob(
                job=job,
                active=None if job.active_run is None else states.get(job.active_run),
                shard=shard_of(job.id),
            )
            for job in jobs
        ]


def _next_in(sight: Sight) -> timedelta | None:
    if sight.more:
        return _AT_ONCE
    return None if sight.next_at is None else max(instant(sight.next_at) - instant(sight.now), _AT_ONCE)


def _waiting_since(stored: Stored) -> tuple[object, ...]:
    return stored.job.wake_at, stored.job.id
