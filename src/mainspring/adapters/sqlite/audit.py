"""The Audit port on SQLite."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from mainspring.adapters.audit_chain import BEFORE_ALL, digest, digests
from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, to_instant
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import JobId
from mainspring.ports.audit import Entry, Recorded

_SQL = load("audit")
_AFTER_ALL = (1 << 63) - 1
_CHUNK = 1_000


class SqliteAudit:
    """Rows are only ever inserted; their digest is filled in once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def append(self, entries: Sequence[Entry]) -> None:
        """Record what was done, in order."""
        await self._engine.write(partial(append, entries=entries))

    async def page(
        self, *, owner: str | None, job_id: JobId | None, before: int | None, limit: int
    ) -> Sequence[Recorded]:
        """Entries, newest first."""
        job = None if job_id is None else job_id.bytes
        top = _AFTER_ALL if before is None else before
        return await self._engine.read(lambda transaction: list(_rows(transaction, "page", top, owner, job, limit)))

    async def chain(self, limit: int) -> int:
        """Give the oldest unchained entries their digests."""
        return await self._engine.write(partial(_chain, limit=limit))

    async def verify(self) -> int | None:
        """The number of the first entry whose digest doesn't fit."""
        return await self._engine.read(_verify)


def append(transaction: Transaction, entries: Sequence[Entry]) -> None:
    """Record what was done, in order."""
    if not entries:
        return
    rows = [
        [
            entry.actor,
            entry.owner,
            entry.action,
            entry.subject,
            None if entry.job_id is None else entry.job_id.hex,
            None if entry.before is None else entry.before.hex(),
            None if entry.after is None else entry.after.hex(),
        ]
        for entry in entries
    ]
    transaction.execute(_SQL["append"], dump(rows), transaction.now)


def _rows(transaction: Transaction, statement: str, *values: Any) -> Iterator[Recorded]:
    for row in transaction.connection.execute(_SQL[statement], values):
        number, at, actor, owner, action, subject, job, before, after, digest_ = row
        job_id = None if job is None else JobId(UUID(bytes=job))
        entry = Entry(
            actor=actor, owner=owner, action=action, subject=subject, job_id=job_id, before=before, after=after
        )
        yield Recorded(number=number, at=to_instant(at), entry=entry, digest=digest_)


def _chain(transaction: Transaction, limit: int) -> int:
    pending = list(_rows(transaction, "unchained", limit))
    if not pending:
        return 0
    previous = transaction.value(_SQL["digest_before"], pending[0].number) or BEFORE_ALL
    for recorded, chained in zip(pending, digests(previous, pending), strict=True):
        transaction.execute(_SQL["set_digest"], recorded.number, chained)
    return len(pending)


def _verify(transaction: Transaction) -> int | None:
    previous, number, expected = BEFORE_ALL, 0, 1
    while chunk := list(_rows(transaction, "from_number", number, _CHUNK)):
        for recorded in chunk:
            if recorded.digest is None:
                return None  # what follows isn't chained yet
            previous = digest(previous, recorded)
            if recorded.number != expected or recorded.digest != previous:
                return recorded.number
            expected += 1
        number = chunk[-1].number
    return None
