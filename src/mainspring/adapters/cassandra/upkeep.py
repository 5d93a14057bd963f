"""The Upkeep port."""

from datetime import timedelta

from mainspring.adapters.cassandra import totals
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.forgetting import Age, Forgetting
from mainspring.adapters.cassandra.graves import Graves
from mainspring.adapters.cassandra.layout import span_of
from mainspring.adapters.cassandra.unused import forget_blobs

FOLD_EVERY = timedelta(minutes=1)


class CassandraUpkeep:
    """Bounded pieces of housekeeping. Any number of processes may do the same one at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._forgetting = Forgetting(context)
        self._graves = Graves(context)
        self._fold_again_at = 0

    async def prune(self, older_than: timedelta, limit: int) -> int:
        """Forget runs, blobs and keys of that age; sessions are forgotten by whoever buries them."""
        age = Age.of(older_than, self._context.now())
        removed = await self._forgetting.runs(age, limit)
        if removed < limit:
            removed += await forget_blobs(self._context, age.cut, limit - removed)
        if removed < limit:
            removed += await self._graves.free_keys(age, limit - removed)
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
