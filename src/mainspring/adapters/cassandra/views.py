"""The Views port: single things and figures; lists are in pages.py."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from mainspring.adapters.cassandra import figures, pages
from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import EVERYTHING
from mainspring.adapters.cassandra.ready import count_due, count_suspects
from mainspring.adapters.cassandra.showing import Showing
from mainspring.adapters.cassandra.tables import HANDLER, IDEMPOTENCY
from mainspring.adapters.cassandra.values import text
from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.run import Run
from mainspring.ports.views import Cursor, DeadFilter, DeadLetter, Figures, JobFilter, JobRecord, Page, RunFilter

_MOST_HANDLERS = 10_000


class CassandraViews:
    """Reads of rows as they are found: a run that moves while a page is read is shown as it was, or as it is."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def job(self, job_id: JobId) -> JobRecord | None:
        """A job by id."""
        return await Showing(self._context).job(job_id)

    async def jobs(self, where: JobFilter, page: Cursor) -> Page[JobRecord]:
        """Standing and one-shot jobs, newest first."""
        return await pages.jobs(self._context, where, page)

    async def run(self, run_id: RunId) -> Run | None:
        """A run by id."""
        return await Showing(self._context).run(run_id)

    async def runs(self, where: RunFilter, page: Cursor) -> Page[Run]:
        """Runs, newest first."""
        return await pages.runs(self._context, where, page)

    async def dead_letters(self, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
        """Unresolved dead letters, newest first."""
        return await pages.dead_letters(self._context, where, page)

    async def figures(self) -> Figures:
        """Totals, and what runs right now."""
        return await figures.figures(self._context)

    async def due(self, owner: str | None = None) -> int:
        """How many runs could start now; beyond `ready.MOST_COUNTED`, that many."""
        return await count_due(self._context, owner)

    async def suspects(self) -> int:
        """How many runs could start now if a worker were emptied for them; beyond `ready.MOST_COUNTED`, that many."""
        return await count_suspects(self._context)

    async def handlers(self) -> Mapping[str, Lane]:
        """Every handler that a worker ever served."""
        rows = await self._context.rows.slice(HANDLER, (EVERYTHING,), limit=_MOST_HANDLERS)
        return {text(row, "name"): Lane(text(row, "lane")) for row in rows}

    async def keys_taken(self, owner: str, keys: Sequence[str]) -> frozenset[str]:
        """Which of the owner's idempotency keys stand for something."""
        found = await abreast(lambda key: self._context.rows.get(IDEMPOTENCY, (owner, key)), keys)
        return frozenset(key for key, rows in zip(keys, found, strict=True) if rows)

    async def now(self) -> datetime:
        """This process's clock, which decides what is due."""
        return self._context.clock.now()
