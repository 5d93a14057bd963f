"""The Audit port on PostgreSQL."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mainspring.adapters.audit_chain import BEFORE_ALL, digest, digests
from mainspring.adapters.postgres.engine import Connection, Engine
from mainspring.adapters.postgres.rows import Row, text
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import JobId
from mainspring.ports.audit import Entry, Recorded

_SQL = load("audit")
_AFTER_ALL = (1 << 63) - 1
_CHUNK = 1_000


class PostgresAudit:
    """Rows are only ever inserted; their digest is filled in once.

    Numbers grow but may have gaps, which a write that failed leaves behind: that nothing was taken out in between is
    shown by the digests alone.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, entries: Sequence[Entry]) -> None:
        """Record what was done, in order."""
        if entries:
            await self._engine.execute(_SQL["append"], *_columns(entries))

    async def page(
        self, *, owner: str | None, job_id: JobId | None, before: int | None, limit: int
    ) -> Sequence[Recorded]:
        """Entries, newest first."""
        top = _AFTER_ALL if before is None else before
        rows = await self._engine.fetch(_SQL["page"], top, owner, job_id, limit)
        return [_recorded_from(row) for row in rows]

    async def chain(self, limit: int) -> int:
        """Give the oldest unchained entries their digests."""
        complete: int | None = await self._engine.value(_SQL["complete"])
        if complete is None:
            return 0
        return await self._engine.write(partial(_chain, complete=complete, limit=limit))

    async def verify(self) -> int | None:
        """The number of the first entry whose digest doesn't fit."""
        return await self._engine.read(_verify)


async def append(connection: Connection, entries: Sequence[Entry]) -> None:
    """Record what was done in a transaction of somebody else."""
    if entries:
        await connection.execute(_SQL["append"], *_columns(entries))


def _columns(entries: Sequence[Entry]) -> Sequence[Sequence[Any]]:
    return [
        [text(entry.actor) for entry in entries],
        [text(entry.owner) for entry in entries],
        [text(entry.action) for entry in entries],
        [text(entry.subject) for entry in entries],
        [entry.job_id for entry in entries],
        [entry.before for entry in entries],
        [entry.after for entry in entries],
    ]


async def _chain(connection: Connection, complete: int, limit: int) -> int:
    if not await connection.fetchval(_SQL["turn"]):
        return 0
    pending = [_recorded_from(row) for row in await connection.fetch(_SQL["unchained"], complete, limit)]
    if not pending:
        return 0
    previous = await connection.fetchval(_SQL["digest_before"], pending[0].number) or BEFORE_ALL
    numbers = [recorded.number for recorded in pending]
    await connection.execute(_SQL["set_digests"], numbers, digests(previous, pending))
    return len(pending)


async def _verify(connection: Connection) -> int | None:
    previous, number = BEFORE_ALL, 0
    while chunk := [_recorded_from(row) for row in await connection.fetch(_SQL["from_number"], number, _CHUNK)]:
        for recorded in chunk:
            if recorded.digest is None:
                return None  # what follows isn't chained yet
            previous = digest(previous, recorded)
            if recorded.digest != previous:
                return recorded.number
        number = chunk[-1].number
    return None


def _recorded_from(row: Row) -> Recorded:
    number, at, actor, owner, action, subject, job_id, before, after, digest_ = row
    entry = Entry(
        actor=actor,
        owner=owner,
        action=action,
        subject=subject,
        job_id=None if job_id is None else JobId(job_id),
        before=before,
        after=after,
    )
    return Recorded(number=number, at=at, entry=entry, digest=digest_)
