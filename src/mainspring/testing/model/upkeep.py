"""Forgetting what is old, and adding up."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from mainspring.domain.ids import BlobId
from mainspring.testing.model.tables import Tables


class MemoryUpkeep:
    """The `Upkeep` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def prune(self, older_than: timedelta, limit: int) -> int:
        """Never what something that is kept still needs."""
        old = list(islice(self._forgettable(self._tables.now() - older_than), limit))
        for table, key in old:
            table.pop(key, None)
        return len(old)

    async def fold(self, limit: int) -> int:
        """Oldest first."""
        folded, self._tables.tallies[:limit] = self._tables.tallies[:limit], []
        for key, what, by in folded:
            self._tables.totals[key, what] += by
        return len(folded)

    def _forgettable(self, cut: datetime) -> Iterator[tuple[dict[Any, Any], object]]:
        tables = self._tables
        yield from _old(tables.runs, {key: run.finished_at for key, run in tables.runs.items()}, cut)
        yield from _old(tables.dead, {key: letter.died_at for key, letter in tables.dead.items()}, cut)
        yield from ((tables.output, run_id) for run_id in tables.output if run_id not in tables.runs)
        unused = {key: at for key, (_, at) in tables.blobs.items() if key not in self._blobs_in_use()}
        yield from _old(tables.blobs, unused, cut)
        live: set[UUID] = {run.id for run in tables.live()} | set(tables.jobs)
        forgotten = {key: accepted.at for key, accepted in tables.accepted.items() if accepted.id not in live}
        yield from _old(tables.accepted, forgotten, cut)
        holding = set(tables.holders.values())
        idle = {
            key: session.expires_at for key, session in tables.sessions.items() if session.ended and key not in holding
        }
        yield from _old(tables.sessions, idle, cut)

    def _blobs_in_use(self) -> set[BlobId | None]:
        runs = self._tables.runs.values()
        return {
            *(run.task.blob for run in runs),
            *(run.result_blob for run in runs),
            *(job.task.blob for job in self._tables.jobs.values()),
        }


def _old(
    table: dict[Any, Any], times: Mapping[Any, datetime | None], cut: datetime
) -> Iterator[tuple[dict[Any, Any], object]]:
    return ((table, key) for key, at in times.items() if at is not None and at <= cut)
