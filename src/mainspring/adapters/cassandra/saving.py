"""Saving: edit, pause, resume and delete, after everything that was decided before is done."""

from collections.abc import Sequence
from dataclasses import replace

from mainspring.adapters.cassandra.blobs import use_of
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.document import Document, skip_row
from mainspring.adapters.cassandra.firing import NONCE_BITS
from mainspring.adapters.cassandra.helping import carry_out, help_first, notes_of
from mainspring.adapters.cassandra.jobs import Stored, change_job, find_job, job_columns, note_of, planned_at
from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.listing import Entry, enlist, keep_listed, strike
from mainspring.adapters.cassandra.rows import UnknownOutcome
from mainspring.domain.ids import Version
from mainspring.domain.job import Job, JobState
from mainspring.domain.plan import Skip
from mainspring.errors import NotFound, VersionConflict


async def save(context: Context, job: Job, expected: Job, skips: Sequence[Skip]) -> Job:
    """Store *job* over what was read as *expected*; no older fire follows."""
    while True:
        stored = await _find(context, job, expected)
        now = context.now()
        saved = replace(
            job,
            version=Version(stored.job.version + 1),
            updated_at=instant(now),
            owner=stored.job.owner,
            key=stored.job.key,
            created_at=stored.job.created_at,
            active_run=stored.job.active_run,
        )
        document = await _document(context, saved, skips, now)
        if await _decide(context, stored, saved, document):
            await _follow_up(context, stored, saved, document)
            return saved


async def _find(context: Context, job: Job, expected: Job) -> Stored:
    """The job as it is, with nothing left undone."""
    stored = await find_job(context, job.id, settled=True)
    if stored is None or stored.job.state is JobState.DELETED:
        raise NotFound(f"there is no standing job {job.id}")
    await help_first(context, stored)
    if (stored.job.version, stored.job.next_fire_at) != (expected.version, expected.next_fire_at):
        raise VersionConflict(f"job {job.id} has changed since version {expected.version} was read: read it again")
    return stored


async def _document(context: Context, saved: Job, skips: Sequence[Skip], now: int) -> Document:
    """The skips as a document. An entry under the new version leads to it: a paused job has no other."""
    return Document(
        entry=await enlist(context, saved.id, saved.version, earliest=now) if skips else None,
        nonce=context.random.bits(NONCE_BITS),
        rows=[skip_row(saved, skip, now) for skip in skips],
    )


async def _decide(context: Context, stored: Stored, saved: Job, document: Document) -> bool:
    if saved.task.blob is not None:
        await context.rows.put([use_of(saved.task.blob, saved.id, context.now())])
    entry = await _enlist(context, saved, document.entry)
    applied = await change_job(context, stored, {**job_columns(saved, entry), "firing": document.to_json()})
    if applied is None:
        return await _is_applied(context, saved)
    if applied:
        await keep_listed(context, entry)
    return applied


async def _enlist(context: Context, saved: Job, before: Entry | None) -> Entry | None:
    earliest = planned_at(saved)
    if earliest is None:
        return None
    if before is not None:
        earliest = max(earliest, before.at + 1)
    return await enlist(context, saved.id, saved.version, earliest=earliest)


async def _is_applied(context: Context, saved: Job) -> bool:
    """Whether the job, which has moved on, was *saved* on its way; unless somebody else has edited it since."""
    found = await find_job(context, saved.id, settled=True)
    if found is not None and found.job.version > saved.version:
        raise UnknownOutcome(f"no answer came to an edit of job {saved.id}, and it was edited since")
    return found is not None and saved == replace(
        found.job, next_fire_at=saved.next_fire_at, wake_at=saved.wake_at, active_run=saved.active_run
    )


async def _follow_up(context: Context, stored: Stored, saved: Job, document: Document) -> None:
    written = await carry_out(context, document)
    for entry in (document.entry, stored.entry):
        if entry is not None:
            await strike(context, entry)
    await context.note([note_of(saved), *notes_of(written)])
