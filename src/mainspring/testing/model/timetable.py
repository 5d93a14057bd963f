"""Standing jobs and the firing of their moments."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from mainspring.domain.ids import Version
from mainspring.domain.job import Job, JobState
from mainspring.domain.plan import Advance, DueJob, Skip
from mainspring.domain.run import State
from mainspring.errors import NotFound, VersionConflict
from mainspring.ports.timetable import Due
from mainspring.testing.model.tables import Tables


class MemoryTimetable:
    """The `Timetable` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """The active run belongs to firing."""
        stored = self._tables.jobs.get(job.id)
        if stored is None or stored.state is JobState.DELETED:
            raise NotFound(f"there is no job {job.id}")
        if (stored.version, stored.next_fire_at) != (expected.version, expected.next_fire_at):
            raise VersionConflict(f"job {job.id} is at version {stored.version} and {stored.next_fire_at}")
        saved = replace(job, version=Version(stored.version + 1), active_run=stored.active_run)
        self._tables.jobs[job.id] = saved
        self._tables.changed.append(job.id)
        for skip in skips:
            self._tables.skip(saved, skip)
        return saved

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:  # noqa: ARG002 - there is one
        """Active jobs by wake time."""
        now = self._tables.now()
        planned = sorted(
            (job.wake_at, job.id)
            for job in self._tables.jobs.values()
            if job.state is JobState.ACTIVE and job.wake_at is not None
        )
        due = [job_id for wake_at, job_id in planned if wake_at <= now]
        later = [wake_at - now for wake_at, _ in planned if wake_at > now]
        jobs = [self._tables.jobs[job_id] for job_id in due[:limit]]
        next_in = timedelta(0) if len(due) > limit else min(later, default=None)
        return Due(jobs=[DueJob(job=job, active=self._active(job)) for job in jobs], now=now, next_in=next_in)

    def _active(self, job: Job) -> State | None:
        run = self._tables.runs.get(job.active_run) if job.active_run else None
        return run.state if run else None

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """One after the other."""
        return [self._fire(advance) for advance in advances]

    def _fire(self, advance: Advance) -> bool:
        job = self._tables.jobs.get(advance.job_id)
        if job is None or not self._as_expected(job, advance):
            return False
        wake_at = advance.wake_at if advance.look_again is None else self._tables.now() + advance.look_again
        self._tables.jobs[job.id] = replace(
            job, next_fire_at=advance.next_fire_at, wake_at=wake_at, active_run=advance.active_run
        )
        if advance.cancel is not None and advance.cancel in self._tables.runs:
            self._tables.cancel(self._tables.runs[advance.cancel], "replaced")
        for run in advance.runs:
            if run.id not in self._tables.runs:
                self._tables.create(run)
        for skip in advance.skips:
            self._tables.skip(job, skip)
        return True

    def _as_expected(self, job: Job, advance: Advance) -> bool:
        return (
            job.state is JobState.ACTIVE
            and job.version == advance.expected_version
            and job.next_fire_at == advance.expected_fire_at
            and job.active_run == advance.expected_active
            and advance.expected_fire_at <= self._tables.now()
        )
