"""The Locks port on SQLite."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial

from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import micros, to_instant, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Fence
from mainspring.ports.locks import Bookmark, HeldBy, HeldPage, Lock, owned

_SQL = load("locks")
_RELEASED = 0
"""When a lock ended that was given up: so it differs from one that expired."""
_BEGINNING = Bookmark(expires_at=datetime(1970, 1, 1, tzinfo=UTC), name="")


class SqliteLocks:
    """One row per name, for ever: a fence must not begin again."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """Return a lock whose fence exceeds every earlier one, or who holds it."""
        return await self._engine.write(partial(_acquire, name=name, holder=holder, ttl=ttl))

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        """Extend the lock under the same fence."""
        return await self._engine.write(partial(_renew, lock=lock, ttl=ttl))

    async def release(self, lock: Lock) -> bool:
        """Give the lock up."""
        return await self._engine.write(partial(_release, lock=lock))

    async def find(self, name: str) -> Lock | None:
        """The lock as it is held now."""
        return await self._engine.read(partial(_find, name=name))

    async def held(self, owner: str, *, after: Bookmark | None = None, limit: int) -> HeldPage:
        """Locks that are held now, those first that end first."""
        return await self._engine.read(partial(_held, owner=owner, after=after or _BEGINNING, limit=limit))


def _find(transaction: Transaction, name: str) -> Lock | None:
    row = transaction.value(_SQL["find"], name)
    if row is None:
        return None
    holder, fence, expires_at = json.loads(row)
    if expires_at <= transaction.now:
        return None
    return Lock(name=name, holder=holder, fence=Fence(fence), expires_at=to_instant(expires_at))


def _acquire(transaction: Transaction, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
    row = transaction.value(_SQL["find"], name)
    last, last_fence, ended_at = ("", 0, _RELEASED) if row is None else json.loads(row)
    if ended_at > transaction.now:
        if last != holder:
            return HeldBy(holder=last, remaining=to_instant(ended_at) - to_instant(transaction.now))
        current = Lock(name=name, holder=holder, fence=Fence(last_fence), expires_at=to_instant(ended_at))
        return _renew(transaction, current, ttl) or current
    expires_at = transaction.now + micros(ttl)
    transaction.execute(_SQL["take"], name, holder, expires_at)
    return Lock(
        name=name,
        holder=holder,
        fence=Fence(last_fence + 1),
        expires_at=to_instant(expires_at),
        taken_over=ended_at != _RELEASED,
    )


def _renew(transaction: Transaction, lock: Lock, ttl: timedelta) -> Lock | None:
    expires_at = transaction.now + micros(ttl)
    transaction.execute(_SQL["extend"], lock.name, lock.holder, lock.fence, expires_at, transaction.now)
    if transaction.changes() == 0:
        return None
    return Lock(name=lock.name, holder=lock.holder, fence=lock.fence, expires_at=to_instant(expires_at))


def _release(transaction: Transaction, lock: Lock) -> bool:
    transaction.execute(_SQL["release"], lock.name, lock.holder, lock.fence, transaction.now)
    return transaction.changes() > 0


def _held(transaction: Transaction, owner: str, after: Bookmark, limit: int) -> HeldPage:
    begins = to_micros(after.expires_at)
    rows = transaction.value(_SQL["held"], owned(owner, ""), transaction.now, begins, after.name, limit + 1)
    return HeldPage.of([_lock(*row) for row in json.loads(rows)], limit)


def _lock(name: str, holder: str, fence: int, expires_at: int) -> Lock:
    return Lock(name=name, holder=holder, fence=Fence(fence), expires_at=to_instant(expires_at))
