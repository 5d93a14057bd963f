"""Standing jobs: their rows, and how each is changed by one compare-and-set at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.blobs import use_of
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.idempotency import reserve
from mainspring.adapters.cassandra.layout import EVERYTHING, instant, micros, month_of
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.listing import Entry, enlist, keep_listed
from mainspring.adapters.cassandra.records import task_columns, task_of
from mainspring.adapters.cassandra.rows import Change, Put, Row, UnknownOutcome, Value
from mainspring.adapters.cassandra.tables import JOB, JOB_BY_OWNER, OWNER
from mainspring.domain.ids import JobId, RunId, Version
from mainspring.domain.job import Job, JobState, NewJob, Terms
from mainspring.ports.work import Added, Addition


@dataclass(frozen=True, slots=True)
class Stored:
    """A job as its row has it, with what only this store keeps there."""

    job: Job
    entry: Entry | None
    """The entry of the timetable that counts; None for a job that nothing is planned for."""
    firing: bytes | None
    """The document of the latest decision, carried out or not."""

    def unchanged(self) -> Row:
        """What a change that was decided on this row must meet. Every change moves the version or the entry."""
        return {
            "version": self.job.version,
            "state": int(self.job.state),
            "next_fire_at": _micros(self.job.next_fire_at),
            "active_run": self.job.active_run,
            "entry_at": None if self.entry is None else self.entry.at,
        }


async def store_job(context: Context, new: NewJob, now: datetime) -> Added:
    """Store a job once. A repeat under its key completes what a process that died had begun."""
    job = new.job
    earlier = None if new.key is None else await reserve(context, job.owner, new.key, job.id, now)
    if earlier is None:
        created = await _create(context, job)
        return Added(Addition.CREATED if created else Addition.EXISTING, job.id, now)
    if earlier.kind is Addition.EXISTING:
        await _create(context, replace(job, id=JobId(earlier.id)))
    return earlier


async def find_job(context: Context, job_id: UUID, *, settled: bool = False) -> Stored | None:
    """A standing job, deleted ones included."""
    rows = await context.rows.get(JOB, (job_id,), settled=settled)
    return stored_from(rows[0]) if rows else None


async def change_job(context: Context, seen: Stored, values: Row) -> bool | None:
    """Change the job if it is as it was *seen*. *values* has a document in `firing` that nobody else writes.

    None if no answer came and the job has moved on since: then it can't be told whether this was one of its moves.
    """
    change = Change(key=(), values=values, expected=seen.unchanged())
    try:
        return await context.rows.cas_batch(JOB, (seen.job.id,), [change]) is None
    except UnknownOutcome:
        found = await find_job(context, seen.job.id, settled=True)
        if found is not None and found.firing == values["firing"]:
            return True
        return False if found is not None and found.unchanged() == seen.unchanged() else None


def job_columns(job: Job, entry: Entry | None) -> dict[str, Value]:
    """What an edit may change."""
    return {
        "project": job.project,
        "name": job.name,
        **task_columns(job.task),
        "terms": job.terms.to_json(),
        "state": int(job.state),
        "version": job.version,
        "updated_at": micros(job.updated_at),
        "next_fire_at": _micros(job.next_fire_at),
        "wake_at": _micros(job.wake_at),
        "entry_at": None if entry is None else entry.at,
    }


def stored_from(row: Row) -> Stored:
    """A job from its row."""
    columns: Mapping[str, Any] = row
    job = Job(
        id=JobId(columns["id"]),
        owner=columns["owner"],
        project=columns["project"],
        name=columns["name"],
        key=columns["key"],
        task=task_of(row),
        terms=Terms.from_json(columns["terms"]),
        state=JobState(columns["state"]),
        version=Version(columns["version"]),
        created_at=instant(columns["created_at"]),
        updated_at=instant(columns["updated_at"]),
        next_fire_at=_instant(columns["next_fire_at"]),
        wake_at=_instant(columns["wake_at"]),
        active_run=None if columns["active_run"] is None else RunId(columns["active_run"]),
    )
    listed_at = columns["entry_at"]
    entry = None if listed_at is None else Entry(listed_at, job.id, job.version)
    return Stored(job, entry, columns["firing"])


def planned_at(job: Job) -> int | None:
    """When the planner must look at the job; None if it needn't."""
    return None if job.state is not JobState.ACTIVE else _micros(job.wake_at)


def note_of(job: Job) -> Noted:
    """What followers are told of a job that was stored or edited."""
    return Noted(id=job.id, owner=job.owner, fence=job.version, state=int(job.state), standing=True)


async def _create(context: Context, job: Job) -> bool:
    """Whether this call stored it; otherwise it was stored before."""
    while await find_job(context, job.id) is None:
        await context.index(_index(job, context.now()))
        earliest = planned_at(job)
        entry = None if earliest is None else await enlist(context, job.id, job.version, earliest=earliest)
        if await _insert(context, job, entry):
            await keep_listed(context, entry)
            await context.note([note_of(job)])
            return True
    return False


async def _insert(context: Context, job: Job, entry: Entry | None) -> bool:
    values: dict[str, Value] = {
        "owner": job.owner,
        "key": job.key,
        "created_at": micros(job.created_at),
        **job_columns(job, entry),
        "active_run": job.active_run,
    }
    try:
        return await context.rows.cas_batch(JOB, (job.id,), [Change(key=(), values=values)]) is None
    except UnknownOutcome:
        found = await find_job(context, job.id, settled=True)
        return found is not None and (found.job, found.entry) == (job, entry)


def _index(job: Job, now: int) -> list[Put]:
    """What leads to the job: written first, so that it may lead nowhere but never misses one."""
    puts = [
        Put(table=OWNER, row={"everything": EVERYTHING, "owner": job.owner, "month": month_of(job.id)}),
        Put(table=JOB_BY_OWNER, row={"owner": job.owner, "id": job.id}),
    ]
    return puts if job.task.blob is None else [*puts, use_of(job.task.blob, job.id, now)]


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else instant(microseconds)
