"""The Locks port on PostgreSQL."""

from datetime import UTC, datetime, timedelta

from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Fence
from mainspring.ports.locks import Bookmark, HeldBy, HeldPage, Lock, owned

_SQL = load("locks")
_BEGINNING = Bookmark(expires_at=datetime(1970, 1, 1, tzinfo=UTC), name="")


class PostgresLocks:
    """One row per name, for ever: a fence must not begin again."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """Return a lock whose fence exceeds every earlier one, or who holds it."""
        while (row := await self._engine.row(_SQL["acquire"], name, holder, ttl)) is None:
            pass  # somebody else took it in the same moment: now there is a holder to name
        found, fence, expires_at, remaining, taken_over = row
        if fence is None:
            return HeldBy(holder=found, remaining=remaining)
        return Lock(name=name, holder=found, fence=Fence(fence), expires_at=expires_at, taken_over=taken_over)

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        """Extend the lock under the same fence."""
        expires_at = await self._engine.value(_SQL["renew"], lock.name, lock.holder, lock.fence, ttl)
        if expires_at is None:
            return None
        return Lock(name=lock.name, holder=lock.holder, fence=lock.fence, expires_at=expires_at)

    async def release(self, lock: Lock) -> bool:
        """Give the lock up."""
        return await self._engine.value(_SQL["release"], lock.name, lock.holder, lock.fence) is not None

    async def find(self, name: str) -> Lock | None:
        """The lock as it is held now."""
        row = await self._engine.row(_SQL["find"], name)
        if row is None:
            return None
        holder, fence, expires_at = row
        return Lock(name=name, holder=holder, fence=Fence(fence), expires_at=expires_at)

    async def held(self, owner: str, *, after: Bookmark | None = None, limit: int) -> HeldPage:
        """Locks that are held now, those first that end first."""
        begins = after or _BEGINNING
        rows = await self._engine.fetch(_SQL["held"], owned(owner, ""), begins.expires_at, begins.name, limit + 1)
        return HeldPage.of([Lock(**{**row, "fence": Fence(row["fence"])}) for row in rows], limit)
