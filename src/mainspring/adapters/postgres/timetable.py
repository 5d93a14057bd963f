"""The Timetable port on PostgreSQL."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from mainspring.adapters.postgres.add import insert_runs, known_ids
from mainspring.adapters.postgres.engine import Connection, Engine, Purpose
from mainspring.adapters.postgres.rows import instant, job_from, task_fields
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.steer import cancel_active
from mainspring.domain.ids import JobId, fired_run_id
from mainspring.domain.job import Job
from mainspring.domain.plan import Advance, DueJob, Skip
from mainspring.domain.run import State
from mainspring.errors import NotFound, VersionConflict
from mainspring.ports.timetable import Due

_SQL = load("timetable")
_AT_ONCE = timedelta(0)


class PostgresTimetable:
    """Standing jobs in `job`; what they fire goes to `queue`, what they skip to `history`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """Edit, pause, resume or delete what was read as *expected*."""
        return await self._engine.write(partial(_save, job=job, expected=expected, skips=skips), Purpose.WRITE)

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:  # noqa: ARG002 - there is one
        """Active jobs whose wake time has come, longest waiting first."""
        rows = await self._engine.fetch(_SQL["due"], limit, purpose=Purpose.READ)
        now, wait = rows[0][:2]
        jobs = [
            DueJob(job=job_from(job), active=None if active is None else State(active))
            for _, _, active, *job in rows
            if job[0] is not None
        ]
        if len(jobs) >= limit:
            return Due(jobs=jobs, now=now, next_in=_AT_ONCE)
        return Due(jobs=jobs, now=now, next_in=None if wait is None else max(wait, _AT_ONCE))

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """Apply each advance whole, once, if its job is as expected."""
        if not advances:
            return []
        return await self._engine.write(partial(_fire, advances=advances), Purpose.WRITE)


async def _fire(connection: Connection, advances: Sequence[Advance]) -> Sequence[bool]:
    won = await _winners(connection, advances)
    chosen = [advances[position] for position in sorted(won)]
    if chosen:
        await _apply(connection, chosen)
    return [position in won for position in range(len(advances))]


async def _winners(connection: Connection, advances: Sequence[Advance]) -> set[int]:
    """Where advances meet their job as they expect it; nobody else changes these jobs until the transaction ends."""
    rows = await connection.fetch(_SQL["lock"], [advance.job_id for advance in advances])
    found = {job_id: (version, fire_at, active) for job_id, version, fire_at, active in rows}
    first: dict[JobId, int] = {}
    for position, advance in enumerate(advances):
        expected = (advance.expected_version, advance.expected_fire_at, advance.expected_active)
        if found.get(advance.job_id) == expected:
            first.setdefault(advance.job_id, position)  # what comes second for a job meets what the first has changed
    return set(first.values())


async def _apply(connection: Connection, advances: Sequence[Advance]) -> None:
    await connection.execute(
        _SQL["advance"],
        [advance.job_id for advance in advances],
        [instant(advance.next_fire_at) for advance in advances],
        [instant(advance.wake_at) for advance in advances],
        [advance.look_again for advance in advances],
        [advance.active_run for advance in advances],
    )
    runs = [run for advance in advances for run in advance.runs]
    if runs:
        _, known = await known_ids(connection, [run.id for run in runs])
        await insert_runs(connection, [run for run in runs if run.id not in known], {run.job_id for run in runs})
    await _record(connection, [skip for advance in advances for skip in advance.skips])
    for run_id in sorted(advance.cancel for advance in advances if advance.cancel is not None):
        await cancel_active(connection, run_id, "replaced")


async def _record(connection: Connection, skips: Sequence[Skip]) -> None:
    if skips:
        await connection.execute(
            _SQL["skip"],
            [fired_run_id(skip.job_id, skip.first) for skip in skips],
            [skip.job_id for skip in skips],
            [skip.first for skip in skips],
            [skip.last for skip in skips],
            [skip.count for skip in skips],
            [skip.reason for skip in skips],
        )


async def _save(connection: Connection, job: Job, expected: Job, skips: Sequence[Skip]) -> Job:
    row = await connection.fetchrow(_SQL["save"], *_saved_fields(job, expected))
    if row is None:
        if await connection.fetchrow(_SQL["find"], job.id) is None:
            raise NotFound(f"there is no standing job {job.id}")
        raise VersionConflict(f"job {job.id} has changed since version {expected.version} was read: read it again")
    await _record(connection, skips)
    return job_from(row)


def _saved_fields(job: Job, expected: Job) -> list[Any]:
    return [
        job.id,
        expected.version,
        instant(expected.next_fire_at),
        job.owner,
        job.project,
        job.name,
        job.key,
        job.state,
        job.terms.to_json(),
        instant(job.next_fire_at),
        instant(job.wake_at),
        *task_fields(job.task),
    ]
