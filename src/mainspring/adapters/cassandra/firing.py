"""Firing: an advance becomes a decision on its job's row."""

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.document import Document, run_row, skip_row
from mainspring.adapters.cassandra.helping import carry_out, help_first, notes_of
from mainspring.adapters.cassandra.jobs import Stored, change_job, find_job
from mainspring.adapters.cassandra.layout import micros, span_of
from mainspring.adapters.cassandra.listing import Entry, enlist, keep_listed, strike
from mainspring.adapters.cassandra.rows import Row
from mainspring.domain.job import JobState
from mainspring.domain.plan import Advance

NONCE_BITS = 64


async def fire(context: Context, advance: Advance) -> bool:
    """Apply the advance if its job is as expected and its moment has come; what is left undone others finish."""
    while True:
        stored = await find_job(context, advance.job_id, settled=True)
        if stored is None or stored.entry is None:
            return False
        await help_first(context, stored)
        now = context.now()
        if not _is_as_expected(stored, advance, now):
            return False
        document = _document(context, stored, stored.entry, advance, now)
        if await _decide(context, stored, advance, document, now):
            written = await carry_out(context, document)
            await strike(context, stored.entry)
            await context.note(notes_of(written))
            return True
        # Somebody else was faster, or it can't be told who was: what they made of the job is looked at anew.


def _is_as_expected(stored: Stored, advance: Advance, now: int) -> bool:
    job = stored.job
    return (
        job.state is JobState.ACTIVE
        and job.version == advance.expected_version
        and job.next_fire_at == advance.expected_fire_at
        and job.active_run == advance.expected_active
        and micros(advance.expected_fire_at) <= now
    )


def _document(context: Context, stored: Stored, entry: Entry, advance: Advance, now: int) -> Document:
    return Document(
        entry=entry,
        nonce=context.random.bits(NONCE_BITS),
        rows=[
            *(run_row(run, now) for run in advance.runs),
            *(skip_row(stored.job, skip, now) for skip in advance.skips),
        ],
        cancel=advance.cancel,
    )


async def _decide(context: Context, stored: Stored, advance: Advance, document: Document, now: int) -> bool | None:
    """Move the job on from its entry to the next one, which is listed first."""
    wake_at = _wake_at(advance, now)
    entry = None
    if wake_at is not None and stored.entry is not None:
        earliest = max(wake_at, stored.entry.at + 1)
        entry = await enlist(context, stored.job.id, stored.job.version, earliest=earliest)
    values: Row = {
        "next_fire_at": None if advance.next_fire_at is None else micros(advance.next_fire_at),
        "wake_at": wake_at,
        "entry_at": None if entry is None else entry.at,
        "active_run": advance.active_run,
        "firing": document.to_json(),
    }
    applied = await change_job(context, stored, values)
    if applied:
        await keep_listed(context, entry)
    return applied


def _wake_at(advance: Advance, now: int) -> int | None:
    if advance.look_again is not None:
        return now + span_of(advance.look_again)
    return None if advance.wake_at is None else micros(advance.wake_at)
