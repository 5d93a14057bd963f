"""Named, fenced leases that users take for their own resources."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from mainspring.domain.ids import DEFAULT_OWNER, Fence

_OWNERS_END = "\x1f"
"""Which no name can hold: a slash could."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock in somebody's hands. The resource must refuse smaller fences: a lease alone doesn't exclude."""

    name: str
    holder: str
    fence: Fence
    expires_at: datetime
    taken_over: bool = field(default=False, compare=False)
    """Whether it was acquired after somebody had let it expire, who may believe to hold it still; said by `acquire`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBy:
    """Who has the lock instead, and for how long unless it is renewed."""

    holder: str
    remaining: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """Where a page of held locks has ended, and the next one goes on."""

    expires_at: datetime
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPage:
    """Some locks that are held, and where the next page begins (None: there is no more)."""

    locks: Sequence[Lock]
    next: Bookmark | None

    @classmethod
    def of(cls, found: Sequence[Lock], limit: int) -> "HeldPage":
        """The first *limit* of what was found: if there is one more, another page begins after them."""
        shown = found[:limit]
        more = len(found) > len(shown)
        return cls(locks=shown, next=Bookmark(expires_at=shown[-1].expires_at, name=shown[-1].name) if more else None)


def owned(owner: str, name: str) -> str:
    """The name under which stores keep *owner*'s lock: owners can't take each other's, by request or by handler."""
    return name if owner == DEFAULT_OWNER else f"{owner}{_OWNERS_END}{name}"


def owner_of(name: str) -> str:
    """Whose lock stores keep under *name*; nobody's, and not the default owner's, if it begins with no owner at all."""
    owner, ends, _ = name.rpartition(_OWNERS_END)
    return owner if ends else DEFAULT_OWNER


def own_name(name: str) -> str:
    """What its owner calls the lock that stores keep under *name*."""
    return name.rpartition(_OWNERS_END)[2]


class Leases(Protocol):
    """What a holder does. Fences of a name strictly grow, across releases, expiries and restarts."""

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """Return a lock whose fence exceeds every earlier one for *name*, or who holds it.

        The lock says whether it was taken over: its last holder, be it the same, neither released nor renewed it.
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


class Locks(Leases, Protocol):
    """What holders do, and what others see of it."""

    async def find(self, name: str) -> Lock | None:
        """The lock as it is held now, or None."""
        ...

    async def held(self, owner: str, *, after: Bookmark | None = None, limit: int) -> HeldPage:
        """*owner*'s locks that are held now, at most *limit*, those first that end first unless they are renewed.

        What is renewed while somebody turns the pages may come twice; what is held all the while isn't left out. A page
        may be short, or empty, with `next` set.
        """
        ...
