"""The Views port on SQLite: single things and figures; lists are in pages.py."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any

from mainspring.adapters.sqlite import pages
from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import duration, run_from, to_instant
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.run import Origin, Run, State
from mainspring.ports.views import (
    WAIT_BUCKETS,
    Cursor,
    DeadFilter,
    DeadLetter,
    Figures,
    JobFilter,
    JobRecord,
    Page,
    RunFilter,
    Tally,
)

_SQL = load("views")
_ENDED = {state.name.lower(): state for state in State if state.terminal}


class SqliteViews:
    """Reads beside the writer, each of one consistent moment."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def job(self, job_id: JobId) -> JobRecord | None:
        """A job by id."""
        return await self._engine.read(partial(pages.job_record, job_id=job_id))

    async def jobs(self, where: JobFilter, page: Cursor) -> Page[JobRecord]:
        """Standing and one-shot jobs, newest first."""
        return await self._engine.read(partial(pages.jobs, where=where, page=page))

    async def run(self, run_id: RunId) -> Run | None:
        """A run by id."""
        return await self._engine.read(partial(_run, run_id=run_id))

    async def runs(self, where: RunFilter, page: Cursor) -> Page[Run]:
        """Runs, newest first."""
        return await self._engine.read(partial(pages.runs, where=where, page=page))

    async def dead_letters(self, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
        """Unresolved dead letters, newest first."""
        return await self._engine.read(partial(pages.dead_letters, where=where, page=page))

    async def figures(self) -> Figures:
        """Totals, and what runs right now."""
        return await self._engine.read(_figures)

    async def handlers(self) -> Mapping[str, Lane]:
        """Every handler that a worker ever served."""
        return await self._engine.read(_handlers)

    async def now(self) -> datetime:
        """The store's clock."""
        return await self._engine.read(lambda transaction: to_instant(transaction.now))


def _run(transaction: Transaction, run_id: RunId) -> Run | None:
    row = transaction.value(_SQL["run"], run_id.bytes)
    return None if row is None else run_from(json.loads(row))


def _handlers(transaction: Transaction) -> Mapping[str, Lane]:
    found: Mapping[str, Lane] = json.loads(transaction.value(load("sessions")["handlers"]))
    return found


def _figures(transaction: Transaction) -> Figures:
    rows: list[list[Any]] = sorted(json.loads(transaction.value(_SQL["totals"])))
    running = {tuple(group): amount for *group, amount in json.loads(transaction.value(_SQL["running"]))}
    groups = groupby(rows, key=lambda row: (row[0], row[1], row[2]))
    return Figures(
        tallies=[_tally(*group, list(rows), running.get(group, 0)) for group, rows in groups],
        dead_letters=transaction.value(_SQL["dead_count"]),
    )


def _tally(owner: str, lane: str, kind: int, rows: Sequence[Sequence[Any]], running: int) -> Tally:
    amounts: dict[str, int] = {what: amount for *_, what, amount in rows}
    waits = [amounts.get(f"wait/{bucket}", 0) for bucket in range(len(WAIT_BUCKETS) + 1)]
    return Tally(
        owner=owner,
        lane=Lane(lane),
        origin=Origin(kind),
        added=amounts.get("added", 0),
        started=sum(waits),
        retried=amounts.get("retried", 0),
        lost=amounts.get("lost", 0),
        ended={state: amounts[what] for what, state in _ENDED.items() if what in amounts},
        waits=waits,
        waited=duration(amounts.get("waited", 0)),
        running=running,
    )
