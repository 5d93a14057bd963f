"""The Locks port: one row per name, for ever, changed by compare-and-set alone.

Instants are those of whoever asks. A lock that has run out is therefore left alone for SKEW longer by everybody but its
holder; after that, clocks that differ by more cost an overlap, and the fence is what the resource goes by.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mainspring.adapters.cassandra import held_locks
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import instant, micros
from mainspring.adapters.cassandra.rows import Change, Row, UnknownOutcome
from mainspring.adapters.cassandra.tables import LOCK
from mainspring.adapters.cassandra.values import number, text
from mainspring.domain.ids import Fence
from mainspring.ports.locks import Bookmark, HeldBy, HeldPage, Lock

SKEW = timedelta(seconds=1)
"""How far the clocks of two processes may lie apart."""

_RELEASED = 0
"""The instant at which a lock that was given up has run out: long enough ago for everybody."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A lock's row as it was read; without one, as if somebody had given it up under fence 0."""

    holder: str | None
    fence: int
    expires_at: int
    exists: bool

    def expected(self) -> Row | None:
        return {"fence": self.fence, "expires_at": self.expires_at} if self.exists else None

    def ends_at(self) -> datetime:
        return instant(self.expires_at)


class CassandraLocks:
    """Fences are counted in the row itself; whoever changes it names the fence and the end that it saw."""

    def __init__(self, context: Context) -> None:
        self._rows = context.rows
        self._clock = context.clock

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """Return a lock whose fence exceeds every earlier one, or who holds it."""
        seen = await self._read(name)
        while True:
            now = self._clock.now()
            mine = seen.holder == holder
            left = seen.ends_at() + (timedelta(0) if mine or seen.expires_at == _RELEASED else SKEW) - now
            if left > timedelta(0) and not mine:
                return HeldBy(holder=seen.holder or "", remaining=left)
            fence = seen.fence if left > timedelta(0) else seen.fence + 1
            expired = left <= timedelta(0) and seen.expires_at != _RELEASED
            lock = Lock(name=name, holder=holder, fence=Fence(fence), expires_at=now + ttl, taken_over=expired)
            await held_locks.enlist(self._rows, lock)
            found = await self._write(lock, seen)
            if found is None:
                return lock
            seen = found

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        """Extend the lock under the same fence."""
        seen = await self._read(lock.name)
        while self._holds(lock, seen):
            kept = Lock(name=lock.name, holder=lock.holder, fence=lock.fence, expires_at=self._clock.now() + ttl)
            await held_locks.enlist(self._rows, kept)
            found = await self._write(kept, seen)
            if found is None:
                return kept
            seen = found
        return None

    async def release(self, lock: Lock) -> bool:
        """Give the lock up."""
        seen = await self._read(lock.name)
        while self._holds(lock, seen):
            ended = Lock(name=lock.name, holder=lock.holder, fence=lock.fence, expires_at=instant(_RELEASED))
            found = await self._write(ended, seen)
            if found is None:
                return True
            seen = found
        return False

    async def find(self, name: str) -> Lock | None:
        """The lock as it is held now."""
        seen = await self._read(name)
        if seen.holder is None or seen.ends_at() <= self._clock.now():
            return None
        return Lock(name=name, holder=seen.holder, fence=Fence(seen.fence), expires_at=seen.ends_at())

    async def held(self, owner: str, *, after: Bookmark | None = None, limit: int) -> HeldPage:
        """Locks that are held now, those first that end first."""
        now = Bookmark(expires_at=self._clock.now(), name="")
        begins = now if after is None or after.expires_at < now.expires_at else after
        return await held_locks.held(self._rows, self.find, owner, begins=begins, limit=limit)

    def _holds(self, lock: Lock, seen: _Seen) -> bool:
        return (seen.holder, seen.fence) == (lock.holder, lock.fence) and seen.ends_at() > self._clock.now()

    async def _read(self, name: str, *, settled: bool = False) -> _Seen:
        return _seen(await self._rows.get(LOCK, (name,), settled=settled))

    async def _write(self, lock: Lock, seen: _Seen) -> _Seen | None:
        """Make the row say *lock* if it is as it was *seen*: None, or what it is instead."""
        values: Row = {"holder": lock.holder, "fence": lock.fence, "expires_at": micros(lock.expires_at)}
        try:
            answer = await self._rows.cas_batch(
                LOCK, (lock.name,), [Change(key=(), values=values, expected=seen.expected())]
            )
        except UnknownOutcome:
            pass
        else:
            if answer is None:
                return None
        # A refusal needn't tell the holder; and what is unknown is settled by reading.
        found = await self._read(lock.name, settled=True)
        written = _Seen(lock.holder, lock.fence, micros(lock.expires_at), exists=True)
        return None if found == written else found


def _seen(rows: Sequence[Row]) -> _Seen:
    if not rows:
        return _Seen(None, 0, _RELEASED, exists=False)
    row = rows[0]
    return _Seen(text(row, "holder"), number(row, "fence"), number(row, "expires_at"), exists=True)
