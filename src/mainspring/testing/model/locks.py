"""Named leases whose fences grow for ever."""

from dataclasses import replace
from datetime import datetime, timedelta

from mainspring.domain.ids import Fence
from mainspring.ports.locks import Bookmark, HeldBy, HeldPage, Lock, owner_of
from mainspring.testing.model.tables import Lease, Tables


class MemoryLocks:
    """The `Locks` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """A row that has expired is taken over under the next fence."""
        now = self._tables.now()
        lease = self._tables.leases.setdefault(name, Lease(holder=holder, fence=Fence(0), expires_at=now))
        free = lease.expires_at <= now
        taken_over = free and not lease.released
        if not free and lease.holder != holder:
            return HeldBy(holder=lease.holder, remaining=lease.expires_at - now)
        if free:
            lease.fence = Fence(lease.fence + 1)
        lease.holder, lease.expires_at, lease.released = holder, now + ttl, False
        return replace(self._lock(name, lease), taken_over=taken_over)

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        """Only what is still held under this fence."""
        lease = self._held(lock)
        if lease is None:
            return None
        lease.expires_at = self._tables.now() + ttl
        return self._lock(lock.name, lease)

    async def release(self, lock: Lock) -> bool:
        """Only what is still held under this fence."""
        lease = self._held(lock)
        if lease is not None:
            lease.expires_at, lease.released = self._tables.now(), True
        return lease is not None

    async def find(self, name: str) -> Lock | None:
        """Expired locks are nobody's."""
        lease = self._tables.leases.get(name)
        return self._lock(name, lease) if lease and lease.expires_at > self._tables.now() else None

    async def held(self, owner: str, *, after: Bookmark | None = None, limit: int) -> HeldPage:
        """Expired locks are nobody's."""
        begins = (self._tables.now(), "") if after is None else (after.expires_at, after.name)
        found = [self._lock(name, lease) for name, lease in self._tables.leases.items() if owner_of(name) == owner]
        live = (lock for lock in found if lock.expires_at > self._tables.now())
        later = [lock for lock in live if _place(lock) > begins]
        return HeldPage.of(sorted(later, key=_place), limit)

    def _held(self, lock: Lock) -> Lease | None:
        lease = self._tables.leases.get(lock.name)
        if lease is None or (lease.holder, lease.fence) != (lock.holder, lock.fence):
            return None
        return lease if lease.expires_at > self._tables.now() else None

    def _lock(self, name: str, lease: Lease) -> Lock:
        return Lock(name=name, holder=lease.holder, fence=lease.fence, expires_at=lease.expires_at)


def _place(lock: Lock) -> tuple[datetime, str]:
    return lock.expires_at, lock.name
