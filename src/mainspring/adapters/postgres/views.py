"""The Views port on PostgreSQL: single things and figures; lists are in pages.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from mainspring.adapters.figures import Total, tallies
from mainspring.adapters.postgres import pages
from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.engine import Connection, Engine, Purpose
from mainspring.adapters.postgres.records import records_from
from mainspring.adapters.postgres.rows import run_from, text
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.run import Run
from mainspring.domain.suspects import MARK
from mainspring.ports.tickets import GRACE
from mainspring.ports.views import Cursor, DeadFilter, DeadLetter, Figures, JobFilter, JobRecord, Page, RunFilter

_SQL = load("views")


class PostgresViews:
    """Reads of one snapshot each: a single statement, or a short transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def job(self, job_id: JobId) -> JobRecord | None:
        """A job by id."""
        rows = await self._engine.fetch(_SQL["records"], [job_id], [earliest_end([job_id])], purpose=Purpose.READ)
        return records_from(rows).get(job_id)

    async def jobs(self, where: JobFilter, page: Cursor) -> Page[JobRecord]:
        """Standing and one-shot jobs, newest first."""
        return await self._engine.read(partial(pages.jobs, where=where, page=page))

    async def run(self, run_id: RunId) -> Run | None:
        """A run by id."""
        row = await self._engine.row(_SQL["run"], run_id, earliest_end([run_id]), purpose=Purpose.READ)
        return None if row is None else run_from(row)

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
        due: int = await self._engine.value(_SQL["due"], text(owner), GRACE, purpose=Purpose.READ)
        return due

    async def suspects(self) -> int:
        """How many runs could start now if a worker were emptied for them."""
        suspects: int = await self._engine.value(_SQL["suspects"], MARK, purpose=Purpose.READ)
        return suspects

    async def handlers(self) -> Mapping[str, Lane]:
        """Every handler that a worker ever served."""
        rows = await self._engine.fetch(_SQL["handlers"], purpose=Purpose.READ)
        return {name: Lane(lane) for name, lane in rows}

    async def keys_taken(self, owner: str, keys: Sequence[str]) -> frozenset[str]:
        """Which of the owner's idempotency keys stand for something."""
        rows = await self._engine.fetch(load("work")["keys_taken"], [owner], keys, purpose=Purpose.READ)
        return frozenset(key for _, key, *_ in rows)

    async def now(self) -> datetime:
        """The server's clock."""
        now: datetime = await self._engine.value(_SQL["now"], purpose=Purpose.READ)
        return now


async def _figures(connection: Connection) -> Figures:
    totals: list[Total] = [tuple(row) for row in await connection.fetch(_SQL["totals"])]
    running = {(owner, lane, kind): amount for owner, lane, kind, amount in await connection.fetch(_SQL["running"])}
    return Figures(tallies=tallies(totals, running), dead_letters=await connection.fetchval(_SQL["dead_count"]))
