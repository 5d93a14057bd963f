"""An index of locks by when they end: an entry for each end that a lock was ever to have.

An entry is written before the lock's row says so, and never removed: it vanishes by itself. One whose end isn't the
lock's any more, because the lock was renewed, given up or never taken, is passed over by whoever reads the row. So a
lock that is held has exactly one entry that counts, and nobody reads entries that lie in the past.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.layout import instant, micros, span_of
from mainspring.adapters.cassandra.rows import Key, Put, Row, Rows, Span
from mainspring.adapters.cassandra.tables import LOCK_END
from mainspring.adapters.cassandra.values import number, text
from mainspring.ports.locks import Bookmark, HeldPage, Lock, owner_of

_HOUR = span_of(timedelta(hours=1))
_LONGEST = 25
"""Hours, from the one that it is now: nobody may ask for a lock for more than a day. A handler may; its lock is listed
on its last day."""
_EXAMINED = 500
"""Entries that a page looks at: each is a lock's row to read."""

Find = Callable[[str], Awaitable[Lock | None]]


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """Says that *name* may be held until *expires_at*."""

    expires_at: int
    name: str

    @property
    def bookmark(self) -> Bookmark:
        return Bookmark(expires_at=instant(self.expires_at), name=self.name)


async def enlist(rows: Rows, lock: Lock) -> None:
    """List a lock that is about to be held until its end."""
    owner, expires_at = owner_of(lock.name), micros(lock.expires_at)
    row: Row = {"owner": owner, "hour": expires_at // _HOUR, "expires_at": expires_at, "name": lock.name}
    await rows.put([Put(table=LOCK_END, row=row)])


async def held(rows: Rows, find: Find, owner: str, *, begins: Bookmark, limit: int) -> HeldPage:
    """The first locks that *find* confirms among the entries behind *begins*."""
    entries = await _entries(rows, owner, _Entry(micros(begins.expires_at), begins.name))
    found: list[Lock] = []
    seen = 0
    while seen < len(entries) and len(found) < limit:
        looked_at = entries[seen : seen + limit - len(found)]
        locks = await abreast(find, [entry.name for entry in looked_at])
        found += [lock for entry, lock in zip(looked_at, locks, strict=True) if lock is not None and _ends(lock, entry)]
        seen += len(looked_at)
    more = seen < len(entries) or seen == _EXAMINED
    return HeldPage(locks=found, next=entries[seen - 1].bookmark if more else None)


async def _entries(rows: Rows, owner: str, after: _Entry) -> Sequence[_Entry]:
    first = after.expires_at // _HOUR

    async def of_hour(hour: int) -> Sequence[Row]:
        partition: Key = (owner, hour)
        return await rows.slice(LOCK_END, partition, Span(after=(after.expires_at, after.name)), limit=_EXAMINED)

    found = chain.from_iterable(await abreast(of_hour, range(first, first + _LONGEST + 1)))
    return sorted(_Entry(number(row, "expires_at"), text(row, "name")) for row in found)[:_EXAMINED]


def _ends(lock: Lock, entry: _Entry) -> bool:
    return micros(lock.expires_at) == entry.expires_at
