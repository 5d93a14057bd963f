"""Jobs with the runs that they show, from the rows of one statement."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from mainspring.adapters.one_shots import job_of, prominence
from mainspring.adapters.postgres.rows import Row, job_from, run_from
from mainspring.domain.run import Run
from mainspring.ports.views import JobRecord

_JOB = slice(1, 21)
_RUN = slice(21, None)


def records_from(rows: Iterable[Row]) -> Mapping[UUID, JobRecord]:
    """Jobs by id, from the statement `records`."""
    groups: dict[UUID, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    found = {identity: _record(identity, group) for identity, group in groups.items()}
    return {identity: record for identity, record in found.items() if record is not None}


def _record(identity: UUID, rows: Sequence[Row]) -> JobRecord | None:
    runs = [run_from(row[_RUN]) for row in rows if row[_RUN.start] is not None]
    shown = max(runs, key=prominence, default=None)
    if rows[0][_JOB.start] is not None:
        return JobRecord(job=job_from(rows[0][_JOB]), run=shown)
    first = _first(identity, runs)
    return None if first is None else JobRecord(job=job_of(first), run=shown)


def _first(identity: UUID, runs: Iterable[Run]) -> Run | None:
    """The run that a one-shot job is, if the job is one."""
    return next((run for run in runs if run.id == identity), None)
