"""Named, fenced leases that users take for their own resources."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from mainspring.domain.ids import DEFAULT_OWNER, Fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock in somebody's hands. The resource must refuse smaller fences: a lease alone doesn't exclude."""

    name: str
    holder: str
    fence: Fence
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBy:
    """Who has the lock instead, and for how long unless it is renewed."""

    holder: str
    remaining: timedelta


def owned(owner: str, name: str) -> str:
    """The name under which stores keep *owner*'s lock: owners can't take each other's, by request or by handler."""
    return name if owner == DEFAULT_OWNER else f"{owner}\x1f{name}"  # which no name can hold: a slash could


class Locks(Protocol):
    """Fences of a name strictly grow, across releases, expiries and restarts."""

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """Return a lock whose fence exceeds every earlier one for *name*, or who holds it.

        A holder that asks again while it holds (its first reply may have been lost) gets its own lock, extended,
        under the same fence.
        """
        ...

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        """Extend the lock under the same fence; None if it has expired or belongs to somebody else."""
        ...

    async def release(self, lock: Lock) -> bool:
        """Give the lock up; False if it wasn't held under this fence any more."""
        ...

    async def find(self, name: str) -> Lock | None:
        """The lock as it is held now, or None."""
        ...
