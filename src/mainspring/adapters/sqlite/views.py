"""The Views port on SQLite: single things and figures; lists are in pages.py."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from mainspring.adapters.figures import Total, tallies
from mainspring.adapters.sqlite import pages
from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, micros, run_from, to_instant
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.run import Run
from mainspring.domain.suspects import is_for_suspects
from mainspring.ports.tickets import GRACE
from mainspring.ports.views import Cursor, DeadFilter, DeadLetter, Figures, JobFilter, JobRecord, Page, RunFilter

_SQL = load("views")
_GRACE = micros(GRACE)


class SqliteViews:
    """Reads beside the writer, each of one consistent moment."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def job(self, job_id: JobId) -> JobRecord | None:
        """A job by id."""
        return await self._engine.glance(partial(pages.job_record, job_id=job_id))

    async def jobs(self, where: JobFilter, page: Cursor) -> Page[JobRecord]:
        """Standing and one-shot jobs, newest first."""
        return await self._engine.read(partial(pages.jobs, where=where, page=page))

    async def run(self, run_id: RunId) -> Run | None:
        """A run by id."""
        return await self._engine.glance(partial(_run, run_id=run_id))

    async def runs(self, where: RunFilter, page: Cursor) -> Page[Run]:
        """Runs, newest first."""
        return await self._engine.read(partial(pages.runs, where=where, page=page))

    async def dead_letters(self, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
        """Unresolved dead letters, newest first."""
        return await self._engine.read(partial(pages.dead_letters, where=where, page=page))

    async def figures(self) -> Figures:
        """Totals, and what runs right now."""
        return await self._engine.read(_figures)

    async def due(self, owner: str | None = None) -> int:
        """How many runs could start now."""
        return await self._engine.read(partial(_due, owner=owner))

    async def suspects(self) -> int:
        """How many runs could start now if a worker were emptied for them."""
        return await self._engine.read(_suspects)

    async def handlers(self) -> Mapping[str, Lane]:
        """Every handler that a worker ever served."""
        return await self._engine.read(_handlers)

    async def keys_taken(self, owner: str, keys: Sequence[str]) -> frozenset[str]:
        """Which of the owner's idempotency keys stand for something."""
        return await self._engine.read(partial(_keys_taken, owner=owner, keys=keys))

    async def now(self) -> datetime:
        """The store's clock."""
        return await self._engine.read(lambda transaction: to_instant(transaction.now))


def _run(transaction: Transaction, run_id: RunId) -> Run | None:
    row = transaction.value(_SQL["run"], run_id.bytes)
    return None if row is None else run_from(json.loads(row))


def _due(transaction: Transaction, owner: str | None) -> int:
    """From lane to lane, so that only what is due is counted."""
    soon = transaction.now + _GRACE
    return sum(transaction.value(_SQL["due"], lane, transaction.now, owner, soon) for lane in _lanes(transaction))


def _suspects(transaction: Transaction) -> int:
    lanes = filter(is_for_suspects, _lanes(transaction))
    return sum(transaction.value(_SQL["due"], lane, transaction.now, None, transaction.now) for lane in lanes)


def _lanes(transaction: Transaction) -> Iterator[Lane]:
    lane = transaction.value(_SQL["first_lane"], "")
    while lane is not None:
        yield lane
        lane = transaction.value(_SQL["first_lane"], lane)


def _handlers(transaction: Transaction) -> Mapping[str, Lane]:
    found: Mapping[str, Lane] = json.loads(transaction.value(load("sessions")["handlers"]))
    return found


def _keys_taken(transaction: Transaction, owner: str, keys: Sequence[str]) -> frozenset[str]:
    rows = json.loads(transaction.value(load("work")["keys_taken"], dump([[owner, key] for key in keys])))
    return frozenset(key for _, key, *_ in rows)


def _figures(transaction: Transaction) -> Figures:
    totals: list[Total] = [tuple(row) for row in json.loads(transaction.value(_SQL["totals"]))]
    running = {tuple(group): amount for *group, amount in json.loads(transaction.value(_SQL["running"]))}
    return Figures(tallies=tallies(totals, running), dead_letters=transaction.value(_SQL["dead_count"]))
