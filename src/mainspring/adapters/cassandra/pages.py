"""Keyset pages, newest first by id.

What a page costs: with an owner or a job, a read per row shown and one per month; without, the newest minutes of all
shards are read side by side, and standing jobs and dead letters owner by owner. Every other filter is applied to what
was read, up to MOST_EXAMINED rows: a page may then be short, with `next` set.
"""

from collections.abc import Sequence
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.jobs import find_job
from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.looking import Look, Looked, all_runs, beside, by_month, of_partition
from mainspring.adapters.cassandra.matching import job_matches, letter_matches, record_matches, run_matches
from mainspring.adapters.cassandra.owners import all_owners
from mainspring.adapters.cassandra.paging import cut
from mainspring.adapters.cassandra.records import run_of
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.showing import Showing
from mainspring.adapters.cassandra.tables import DEAD, IDEMPOTENCY, JOB_BY_OWNER, RUN_BY_JOB, RUN_BY_OWNER
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.adapters.one_shots import job_of
from mainspring.domain.run import Run, State
from mainspring.ports.views import Cursor, DeadFilter, DeadLetter, JobFilter, JobRecord, Page, RunFilter


async def runs(context: Context, where: RunFilter, page: Cursor) -> Page[Run]:
    """Runs that match."""
    showing = Showing(context)
    look = await _runs_of(showing, where)

    async def judge(rows: Sequence[Row]) -> Sequence[Run | None]:
        found = await _whole(showing, rows)
        return [run if run is not None and run_matches(run, where) else None for run in found]

    return await cut(look, judge, page)


async def jobs(context: Context, where: JobFilter, page: Cursor) -> Page[JobRecord]:
    """Jobs that match."""
    showing = Showing(context)
    if where.key is not None and where.owner is not None:
        return await _keyed(showing, where, page)
    look = await _standing(showing, where.owner)
    if not where.standing:
        look = beside([look, await _runs_of(showing, RunFilter(owner=where.owner))])

    async def judge(rows: Sequence[Row]) -> Sequence[JobRecord | None]:
        return await abreast(lambda row: _record(showing, row, where), rows)

    return await cut(look, judge, page)


async def dead_letters(context: Context, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
    """Unresolved dead letters that match."""
    showing = Showing(context)

    async def judge(rows: Sequence[Row]) -> Sequence[DeadLetter | None]:
        found = await showing.runs([identity(row, "id") for row in rows if letter_matches(row, where)])
        return [_letter(row, found.get(identity(row, "id"))) for row in rows]

    return await cut(await dead_of(showing, where.owner), judge, page)


async def dead_of(showing: Showing, owner: str | None) -> Look:
    """A walk over the index of dead letters, of one owner or of all."""
    if owner is not None:
        return by_month(showing.context.rows, DEAD, owner, await showing.months(owner))
    owners = await all_owners(showing.context.rows)
    return beside([by_month(showing.context.rows, DEAD, each, months) for each, months in owners.items()])


async def _runs_of(showing: Showing, where: RunFilter) -> Look:
    rows = showing.context.rows
    if where.job_id is not None:
        months = await _months_of_job(showing, where.job_id)
        return beside([by_month(rows, RUN_BY_JOB, where.job_id, months), _itself(where.job_id)])
    if where.owner is not None:
        return by_month(rows, RUN_BY_OWNER, where.owner, await showing.months(where.owner))
    return all_runs(rows)


async def _standing(showing: Showing, owner: str | None) -> Look:
    rows = showing.context.rows
    owners = [owner] if owner is not None else list(await all_owners(rows))
    return beside([of_partition(rows, JOB_BY_OWNER, (each,)) for each in owners])


async def _months_of_job(showing: Showing, job_id: UUID) -> Sequence[int]:
    """The months of whoever owns the job; if nobody knows any more, all there are."""
    stored = await find_job(showing.context, job_id)
    if stored is not None:
        return await showing.months(stored.job.owner)
    run = await showing.run(job_id)
    if run is not None:
        return await showing.months(run.owner)
    owners = await all_owners(showing.context.rows)
    return sorted({month for months in owners.values() for month in months}, reverse=True)


def _itself(job_id: UUID) -> Look:
    """The run that a one-shot job is, beside those that its index lists."""

    async def look(before: UUID | None, _most: int) -> Looked:
        return Looked([{"id": job_id}] if before is None or job_id < before else [], more=False)

    return look


async def _whole(showing: Showing, rows: Sequence[Row]) -> Sequence[Run | None]:
    """The runs that rows are, or lead to."""
    named = await showing.runs([identity(row, "id") for row in rows if "state" not in row])
    return [named.get(identity(row, "id")) if "state" not in row else _visible(row) for row in rows]


def _visible(row: Row) -> Run | None:
    return None if row["hidden"] else run_of(row)


async def _record(showing: Showing, row: Row, where: JobFilter) -> JobRecord | None:
    """The job that a row is, or leads to, if it matches."""
    if "state" in row or "one_shot" in row:
        record = await _one_shot(showing, row, where)
    else:
        stored = await find_job(showing.context, identity(row, "id"))
        matches = stored is not None and job_matches(stored.job, where)
        record = await showing.standing(stored.job) if stored is not None and matches else None
    return record if record is not None and record_matches(record, where) else None


async def _one_shot(showing: Showing, row: Row, where: JobFilter) -> JobRecord | None:
    if not row.get("one_shot", row.get("job_id") == row["id"]):
        return None
    (run,) = await _whole(showing, [row])
    return await showing.one_shot(run) if run is not None and job_matches(job_of(run), where) else None


async def _keyed(showing: Showing, where: JobFilter, page: Cursor) -> Page[JobRecord]:
    """The one job that a key can stand for."""
    rows = await showing.context.rows.get(IDEMPOTENCY, (where.owner, where.key))
    record = await showing.job(identity(rows[0], "id")) if rows else None
    if record is None or not record_matches(record, where) or (where.standing and _is_one_shot(record)):
        return Page(items=(), next=None)
    return Page(items=[record] if page.before is None or record.job.id < page.before else (), next=None)


def _is_one_shot(record: JobRecord) -> bool:
    """A one-shot job names itself as its run."""
    return record.job.active_run is not None and record.job.active_run.bytes == record.job.id.bytes


def _letter(row: Row, run: Run | None) -> DeadLetter | None:
    """None where the run was forgotten, or didn't die: its entry is written before it does."""
    if run is None or run.state is not State.DEAD:
        return None
    return DeadLetter(run=run, fingerprint=text(row, "fingerprint"), died_at=instant(number(row, "died_at")))
