"""The Upkeep port."""

from datetime import timedelta

from mainspring.adapters.cassandra import totals
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.forgetting import Age, Forgetting
from mainspring.adapters.cassandra.holding import holds_any
from mainspring.adapters.cassandra.layout import span_of
from mainspring.adapters.cassandra.members import MOST_SESSIONS
from mainspring.adapters.cassandra.rows import Row, only
from mainspring.adapters.cassandra.tables import CLAIM_INTENT, SESSION, SESSION_OF
from mainspring.adapters.cassandra.unused import forget_blobs
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import SessionId
from mainspring.ports.sessions import Role

FOLD_EVERY = timedelta(minutes=1)


class CassandraUpkeep:
    """Bounded pieces of housekeeping. Any number of processes may do the same one at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._forgetting = Forgetting(context)
        self._fold_again_at = 0

    async def prune(self, older_than: timedelta, limit: int) -> int:
        """Forget what ended that long ago."""
        age = Age.of(older_than, self._context.now())
        removed = await self._forgetting.runs(age, limit)
        if removed < limit:
            removed += await forget_blobs(self._context, age.cut, limit - removed)
        if removed < limit:
            removed += await self._forget_sessions(age.cut, limit - removed)
        return removed

    async def fold(self, limit: int) -> int:
        """Add pages of the ledger up that are never written again; they are closed by the hour, so not every second."""
        now = self._context.now()
        if now < self._fold_again_at:
            return 0
        folded = await totals.fold(self._context, limit)
        if folded < limit:
            self._fold_again_at = now + span_of(FOLD_EVERY)
        return folded

    async def _forget_sessions(self, cut: int, limit: int) -> int:
        forgotten = 0
        for role in Role:
            for entry in await self._context.rows.slice(SESSION_OF, (role.value,), limit=MOST_SESSIONS):
                if forgotten < limit and await self._may_go(entry, cut):
                    session = entry["id"]
                    await self._context.rows.delete_range(CLAIM_INTENT, (session,))
                    await self._context.rows.delete_range(SESSION, (session,))
                    await self._context.rows.delete_range(SESSION_OF, (role.value,), only((session,)))
                    forgotten += 1
        return forgotten

    async def _may_go(self, entry: Row, cut: int) -> bool:
        """Whether the session ended that long ago and holds nothing; the index alone doesn't know that."""
        if entry["opened_at"] is not None and number(entry, "opened_at") > cut:
            return False
        rows = await self._context.rows.get(SESSION, (entry["id"],))
        ended = bool(rows) and rows[0]["ended_at"] is not None and number(rows[0], "ended_at") <= cut
        return ended and not await holds_any(self._context, SessionId(number(entry, "id")))
