"""Forgetting runs that ended long ago, with all that leads to them.

Rows are removed one by one, not by whole partitions: runs are stored at the oldest time there is, so that a partition
that was deleted as a whole would swallow every run that fires late into its minute. What leads to a run goes first: a
process that is stopped in between has left the run for the next one to find.
"""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import SHARDS, home_of, month_of, slot_of, span_of
from mainspring.adapters.cassandra.rows import ALL, Key, Row, Span, only
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import (
    BLOB_USE,
    DEAD,
    IDEMPOTENCY,
    OUTPUT,
    RUN,
    RUN_BY_JOB,
    RUN_BY_OWNER,
    SLOT,
)
from mainspring.adapters.cassandra.values import identity, number

REST = timedelta(hours=1)
"""How long a minute that has only live runs, or young ones, is left alone."""

_OVER = 10
"""Minutes after which a minute that is empty may leave the directory: nobody remembers having listed it."""
_RECENT = timedelta(minutes=1)
_CHUNK = 500
_MOST_RESTING = 100_000


@dataclass(frozen=True, slots=True)
class Age:
    """What is old enough: whatever ended by *cut*."""

    cut: int
    written: int
    """Until when all that hangs on it was written."""

    @classmethod
    def of(cls, older_than: timedelta, now: int) -> "Age":
        """All that is older than that."""
        return cls(cut=now - span_of(older_than), written=now - span_of(min(older_than, _RECENT)))


class Forgetting:
    """Walks the minutes of all shards that began early enough, oldest first."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._resting: dict[Key, int] = {}
        """Minutes in which there was nothing to forget, and when to look again."""

    async def runs(self, age: Age, limit: int) -> int:
        """Forget at most so many runs; return how many were."""
        forgotten = 0
        for shard in range(SHARDS):
            span = Span(last=(slot_of(age.cut),))
            while forgotten < limit:
                slots = await self._context.rows.slice(SLOT, (shard,), span, limit=_CHUNK)
                for slot in slots:
                    if forgotten < limit:
                        forgotten += await self._minute((shard, number(slot, "slot")), age, limit - forgotten)
                if len(slots) < _CHUNK:
                    break
                span = Span(after=(number(slots[-1], "slot"),), last=span.last)
        return forgotten

    async def _minute(self, home: Key, age: Age, limit: int) -> int:
        now = self._context.now()
        if self._resting.get(home, 0) > now:
            return 0
        forgotten, left, span = 0, False, ALL
        while rows := await self._context.rows.slice(RUN, home, span, limit=_CHUNK):
            old = [row for row in rows if row["finished_at"] is not None and number(row, "finished_at") <= age.cut]
            await abreast(lambda row: self._forget(row, age), old[: limit - forgotten])
            left = left or len(old) < len(rows) or len(old) > limit - forgotten
            forgotten = min(forgotten + len(old), limit)
            if len(rows) < _CHUNK or forgotten == limit:
                break
            span = Span(after=(identity(rows[-1], "id"),))
        await self._done(home, age, now, left=left, forgotten=forgotten)
        return forgotten

    async def _done(self, home: Key, age: Age, now: int, *, left: bool, forgotten: int) -> None:
        shard, slot = home
        if left and not forgotten and len(self._resting) < _MOST_RESTING:
            self._resting[home] = now + min(span_of(REST), now - age.cut)
        elif not left and isinstance(slot, int) and slot < slot_of(now) - _OVER:
            # Whoever has listed the minute again since is about to store a run in it.
            await self._context.rows.delete_range(SLOT, (shard,), only((slot,)), until=age.written)

    async def _forget(self, row: Row, age: Age) -> None:
        run_id, month = identity(row, "id"), month_of(identity(row, "id"))
        entries: list[tuple[Table, Key, Key]] = [
            (OUTPUT, (run_id,), ()),
            (DEAD, (row["owner"], month), (run_id,)),
            (RUN_BY_JOB, (row["job_id"], month), (run_id,)),
            (RUN_BY_OWNER, (row["owner"], month), (run_id,)),
            *((BLOB_USE, (row[name],), (run_id,)) for name in ("blob", "result_blob") if row[name] is not None),
        ]
        for table, partition, key in entries:
            await self._context.rows.delete_range(table, partition, only(key) if key else ALL)
        if row["key"] is not None:
            await free_key(self._context, (row["owner"], row["key"]), run_id, age)
        await self._context.rows.delete_range(RUN, home_of(run_id), only((run_id,)))


async def free_key(context: Context, key: Key, holder: UUID, age: Age) -> bool:
    """Let go of a client's key, unless it stands for something else than *holder* by now."""
    rows = await context.rows.get(IDEMPOTENCY, key)
    if not rows or rows[0]["id"] != holder:
        return False
    await context.rows.delete_range(IDEMPOTENCY, key, until=age.written)
    return True
