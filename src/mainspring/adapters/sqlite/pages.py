"""Keyset pages: newest first by id, over live and ended rows together.

A filter is applied to rows as they are read, up to MAX_EXAMINED of them: a page may then be short, with `next` set.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import TypeVar
from uuid import UUID

from mainspring.adapters.one_shots import job_of, prominence
from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import identity, job_from, run_from, to_instant
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import JobId
from mainspring.domain.job import Job
from mainspring.domain.run import Run, State
from mainspring.ports.views import (
    MAX_EXAMINED,
    Cursor,
    DeadFilter,
    DeadLetter,
    JobFilter,
    JobRecord,
    Page,
    RunFilter,
)

_SQL = load("views")
_NEWEST = b"\xff" * 17
_CHUNK = 200

T = TypeVar("T")


def runs(transaction: Transaction, where: RunFilter, page: Cursor) -> Page[Run]:
    """Runs that match, newest first."""
    rows = ((run.id, run) for run in _runs_before(transaction, where.job_id, page.before))
    return _page(rows, lambda run: _run_matches(run, where), page)


def jobs(transaction: Transaction, where: JobFilter, page: Cursor) -> Page[JobRecord]:
    """Jobs that match, newest first."""
    if where.key is not None and where.owner is not None and not where.standing:
        return _keyed(transaction, where, page)
    rows = _standing_rows if where.standing else _records_before
    return _page(rows(transaction, page.before), lambda record: _job_matches(record, where), page)


def dead_letters(transaction: Transaction, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
    """Dead letters that match, newest first."""
    before = _NEWEST if page.before is None else page.before.bytes
    job = None if where.job_id is None else where.job_id.bytes
    rows = json.loads(
        transaction.value(
            _SQL["dead_letters"], before, page.limit + 1, where.owner, job, where.handler, where.fingerprint
        )
    )
    letters = [
        DeadLetter(run=run, fingerprint=fingerprint, died_at=to_instant(died_at))
        for fingerprint, died_at, digits in rows[: page.limit]
        if (run := _run(transaction, identity(digits))) is not None
    ]
    more = len(rows) > page.limit
    return Page(items=letters, next=identity(rows[page.limit - 1][2]) if more else None)


def job_record(transaction: Transaction, job_id: JobId) -> JobRecord | None:
    """A job with the run that it shows."""
    row = transaction.value(_SQL["job"], job_id.bytes)
    if row is not None:
        return _standing_record(transaction, job_from(json.loads(row)))
    run = _run(transaction, job_id)
    return _one_shot_record(transaction, run) if run is not None and run.one_shot else None


def _page(rows: Iterable[tuple[UUID, T | None]], matches: Callable[[T], bool], page: Cursor) -> Page[T]:
    """The first rows that match; a row may stand for nothing (None) and is examined all the same."""
    found: list[T] = []
    last: UUID | None = None
    for examined, (identifier, item) in enumerate(rows):
        if len(found) == page.limit or examined == MAX_EXAMINED:
            return Page(items=found, next=last)
        last = identifier
        if item is not None and matches(item):
            found.append(item)
    return Page(items=found, next=None)


def _runs_before(transaction: Transaction, job: JobId | None, before: UUID | None) -> Iterator[Run]:
    if job is None:
        sources = [_chunks(transaction, name, before) for name in ("live_runs", "ended_runs")]
        return _descending(sources)
    first = _run(transaction, job)
    own = [first] if first is not None and (before is None or job < before) else []
    sources = [_chunks(transaction, name, before, job.bytes) for name in ("live_runs_of_job", "ended_runs_of_job")]
    return _descending([*sources, iter(own)])


def _descending(sources: Sequence[Iterator[Run]]) -> Iterator[Run]:
    return merge(*sources, key=lambda run: run.id, reverse=True)


def _chunks(transaction: Transaction, statement: str, before: UUID | None, *values: bytes) -> Iterator[Run]:
    """Rows of one source, newest first, read a chunk at a time."""
    position = _NEWEST if before is None else before.bytes
    while True:
        rows = json.loads(transaction.value(_SQL[statement], position, _CHUNK, *values))
        for row in rows:
            yield run_from(row)
        if len(rows) < _CHUNK:
            return
        position = bytes.fromhex(rows[-1][0])


def _records_before(transaction: Transaction, before: UUID | None) -> Iterator[tuple[UUID, JobRecord | None]]:
    one_shots = (
        (run.id, _one_shot_record(transaction, run) if run.one_shot else None)
        for run in _runs_before(transaction, None, before)
    )
    return merge(_standing_rows(transaction, before), one_shots, key=itemgetter(0), reverse=True)


def _standing_rows(transaction: Transaction, before: UUID | None) -> Iterator[tuple[UUID, JobRecord | None]]:
    return ((record.job.id, record) for record in _standing_before(transaction, before))


def _standing_before(transaction: Transaction, before: UUID | None) -> Iterator[JobRecord]:
    position = _NEWEST if before is None else before.bytes
    while True:
        rows = json.loads(transaction.value(_SQL["jobs"], position, _CHUNK))
        for row in rows:
            yield _standing_record(transaction, job_from(row))
        if len(rows) < _CHUNK:
            return
        position = bytes.fromhex(rows[-1][0])


def _keyed(transaction: Transaction, where: JobFilter, page: Cursor) -> Page[JobRecord]:
    digits = transaction.value(_SQL["keyed"], where.owner, where.key)
    record = None if digits is None else job_record(transaction, JobId(identity(digits)))
    if record is None or not _job_matches(record, where) or (page.before is not None and record.job.id >= page.before):
        return Page(items=(), next=None)
    return Page(items=[record], next=None)


def _run(transaction: Transaction, run_id: UUID) -> Run | None:
    row = transaction.value(_SQL["run"], run_id.bytes)
    return None if row is None else run_from(json.loads(row))


def _standing_record(transaction: Transaction, job: Job) -> JobRecord:
    return JobRecord(job=job, run=_shown_run(transaction, job.id))


def _shown_run(transaction: Transaction, job_id: JobId) -> Run | None:
    """The newest live run of a job beside the one that is the job itself, or else its latest; skips aren't runs."""
    live = json.loads(transaction.value(_SQL["live_runs_of_job"], _NEWEST, 1, job_id.bytes))
    if live:
        return run_from(live[0])
    for row in json.loads(transaction.value(_SQL["ended_runs_of_job"], _NEWEST, _CHUNK, job_id.bytes)):
        run = run_from(row)
        if run.state is not State.SKIPPED:
            return run
    return None


def _one_shot_record(transaction: Transaction, run: Run) -> JobRecord:
    """A one-shot job may show a retry of the run that it is."""
    retry = _shown_run(transaction, JobId(run.id))
    return JobRecord(job=job_of(run), run=run if retry is None else max(run, retry, key=prominence))


def _run_matches(run: Run, where: RunFilter) -> bool:
    return (
        (where.owner is None or run.owner == where.owner)
        and (where.states is None or run.state in where.states)
        and (where.worker is None or run.worker == where.worker)
        and (where.handler is None or run.task.handler == where.handler)
    )


def _job_matches(record: JobRecord, where: JobFilter) -> bool:
    job = record.job
    return (
        (where.owner is None or job.owner == where.owner)
        and (where.project is None or job.project == where.project)
        and (where.name is None or job.name == where.name)
        and (where.handler is None or job.task.handler == where.handler)
        and (where.key is None or job.key == where.key)
        and (where.states is None or job.state in where.states)
        and (where.run_states is None or (record.run is not None and record.run.state in where.run_states))
        and (where.text is None or _contains(job, where.text.casefold()))
    )


def _contains(job: Job, text: str) -> bool:
    return any(text in field.casefold() for field in (job.name, job.task.handler, job.key or ""))
