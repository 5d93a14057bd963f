"""The Timetable port on SQLite."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from mainspring.adapters.sqlite.add import insert_runs, known_ids
from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, duration, job_from, micros, task_fields, to_instant, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.adapters.sqlite.steer import cancel_active
from mainspring.adapters.sqlite.totals import Totals, add_totals
from mainspring.domain.ids import JobId, fired_run_id
from mainspring.domain.job import Job
from mainspring.domain.plan import Advance, DueJob, Skip
from mainspring.domain.run import Origin, State
from mainspring.errors import NotFound, VersionConflict
from mainspring.ports.timetable import Due

_SQL = load("timetable")


class SqliteTimetable:
    """Standing jobs in `job`; what they fire goes to `queue`, what they skip to `history`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """Edit, pause, resume or delete what was read as *expected*."""
        return await self._engine.write(partial(_save, job=job, expected=expected, skips=skips))

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:  # noqa: ARG002 - there is one
        """Active jobs whose wake time has come, longest waiting first."""
        return await self._engine.read(partial(_due, limit=limit))

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """Apply each advance whole, once, if its job is as expected."""
        if not advances:
            return []
        return await self._engine.write(partial(_fire, advances=advances))


def _due(transaction: Transaction, limit: int) -> Due:
    rows = json.loads(transaction.value(_SQL["due"], transaction.now, limit))
    jobs = [DueJob(job=job_from(row[:-1]), active=None if row[-1] is None else State(row[-1])) for row in rows]
    wake = transaction.value(_SQL["next_wake"])
    if len(jobs) < limit and jobs:
        wake = _next_after(transaction)
    next_in = None if wake is None else duration(max(wake - transaction.now, 0))
    return Due(jobs=jobs, now=to_instant(transaction.now), next_in=next_in)


def _next_after(transaction: Transaction) -> Any:
    """The wake time of the first job that isn't due yet."""
    return transaction.value(_SQL["next_wake"] + " AND wake_at > ?1", transaction.now)


def _fire(transaction: Transaction, advances: Sequence[Advance]) -> Sequence[bool]:
    won = _winners(transaction, advances)
    chosen = [advances[position] for position in sorted(won)]
    if chosen:
        _apply(transaction, chosen)
    return [position in won for position in range(len(advances))]


def _winners(transaction: Transaction, advances: Sequence[Advance]) -> set[int]:
    expectations = [
        [
            advance.job_id.hex,
            advance.expected_version,
            to_micros(advance.expected_fire_at),
            None if advance.expected_active is None else advance.expected_active.hex,
        ]
        for advance in advances
    ]
    met = json.loads(transaction.value(_SQL["as_expected"], dump(expectations), transaction.now))
    first: dict[JobId, int] = {}
    for position in sorted(met):  # of two advances for one job only the first can still be as expected
        first.setdefault(advances[position].job_id, position)
    return set(first.values())


def _apply(transaction: Transaction, advances: Sequence[Advance]) -> None:
    moves = [
        [
            advance.job_id.hex,
            _micros_or_none(advance.next_fire_at),
            _wake(transaction, advance),
            None if advance.active_run is None else advance.active_run.hex,
        ]
        for advance in advances
    ]
    transaction.execute(_SQL["advance"], dump(moves))
    runs = [run for advance in advances for run in advance.runs]
    known = known_ids(transaction, [run.id.hex for run in runs])
    new = [run for run in runs if run.id.hex not in known]
    insert_runs(transaction, new, frozenset(run.job_id.hex for run in new))
    _record(transaction, [skip for advance in advances for skip in advance.skips])
    for advance in advances:
        if advance.cancel is not None:
            cancel_active(transaction, advance.cancel, "replaced")


def _wake(transaction: Transaction, advance: Advance) -> int | None:
    if advance.look_again is not None:
        return transaction.now + micros(advance.look_again)
    return _micros_or_none(advance.wake_at)


def _record(transaction: Transaction, skips: Sequence[Skip]) -> None:
    if not skips:
        return
    rows = [
        [
            fired_run_id(skip.job_id, skip.first).hex,
            skip.job_id.hex,
            to_micros(skip.first),
            to_micros(skip.last),
            skip.count,
            skip.reason,
        ]
        for skip in skips
    ]
    transaction.execute(_SQL["skip"], dump(rows), transaction.now)
    asked = dump(sorted({skip.job_id.hex for skip in skips}))
    groups = {job: (owner, lane) for job, owner, lane in json.loads(transaction.value(_SQL["groups"], asked))}
    totals: Totals = Totals()
    for skip in skips:
        totals[*groups[skip.job_id.hex], Origin.RECURRING, "skipped"] += skip.count or 1
    add_totals(transaction, totals)


def _save(transaction: Transaction, job: Job, expected: Job, skips: Sequence[Skip]) -> Job:
    transaction.execute(_SQL["save"], *_saved_fields(transaction, job, expected))
    if transaction.changes() == 0:
        if transaction.value(_SQL["find"], job.id.bytes) is None:
            raise NotFound(f"there is no standing job {job.id}")
        raise VersionConflict(f"job {job.id} has changed since version {expected.version} was read: read it again")
    _record(transaction, skips)
    return job_from(json.loads(transaction.value(_SQL["find"], job.id.bytes)))


def _saved_fields(transaction: Transaction, job: Job, expected: Job) -> list[Any]:
    return [
        job.id.bytes,
        expected.version,
        _micros_or_none(expected.next_fire_at),
        job.owner,
        job.project,
        job.name,
        job.key,
        job.state,
        job.terms.to_json().hex(),
        transaction.now,
        _micros_or_none(job.next_fire_at),
        _micros_or_none(job.wake_at),
        *task_fields(job.task),
    ]


def _micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)
