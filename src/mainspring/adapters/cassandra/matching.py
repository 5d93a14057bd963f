"""Filters, applied to what was read."""

from mainspring.adapters.cassandra.rows import Row
from mainspring.domain.job import Job
from mainspring.domain.run import Run
from mainspring.ports.views import DeadFilter, JobFilter, JobRecord, RunFilter


def run_matches(run: Run, where: RunFilter) -> bool:
    """Whether the list of runs has this one."""
    return (
        where.owner in (None, run.owner)
        and where.job_id in (None, run.job_id)
        and (where.states is None or run.state in where.states)
        and where.worker in (None, run.worker)
        and where.handler in (None, run.task.handler)
    )


def job_matches(job: Job, where: JobFilter) -> bool:
    """Whether the list of jobs may have this one; its run hasn't been looked at."""
    return (
        where.owner in (None, job.owner)
        and where.project in (None, job.project)
        and where.name in (None, job.name)
        and where.handler in (None, job.task.handler)
        and where.key in (None, job.key)
        and (where.states is None or job.state in where.states)
        and (where.text is None or _contains(job, where.text.casefold()))
    )


def record_matches(record: JobRecord, where: JobFilter) -> bool:
    """Whether the list of jobs has this one, going by its run too."""
    return job_matches(record.job, where) and (
        where.run_states is None or (record.run is not None and record.run.state in where.run_states)
    )


def letter_matches(row: Row, where: DeadFilter) -> bool:
    """Whether the list of dead letters has the one that this index entry leads to."""
    return (
        not row["resolved"]
        and where.job_id in (None, row["job_id"])
        and where.handler in (None, row["handler"])
        and where.fingerprint in (None, row["fingerprint"])
    )


def _contains(job: Job, text: str) -> bool:
    return any(text in field.casefold() for field in (job.name, job.task.handler, job.key or ""))
