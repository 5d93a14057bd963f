"""The Upkeep port on PostgreSQL."""

from datetime import datetime, timedelta

from mainspring.adapters.postgres import partitions
from mainspring.adapters.postgres.engine import Engine, Purpose
from mainspring.adapters.postgres.statements import load

FOLLOWED = timedelta(seconds=60)
"""How long tallies are left for followers to read."""

_SQL = load("upkeep")
_WEEK = timedelta(weeks=1)
_AFTER_RUNS = ("hidden", "output", "keys", "sessions", "blobs")


class PostgresUpkeep:
    """Bounded pieces of housekeeping.

    Runs are forgotten by dropping whole weeks: that takes no longer for ten million runs than for ten, and leaves no
    holes behind. Deleting rows as they come of age would empty every week run by run before it is dropped, at the cost
    of as many writes as the runs themselves. So from an age of a week on, a run goes with the last one of its week, up
    to seven days later than asked; a shorter age is kept to the moment, row by row: it was asked for to be short.
    """

    def __init__(self, engine: Engine, *, followed: timedelta = FOLLOWED) -> None:
        self._engine = engine
        self._followed = followed

    async def prepare(self) -> None:
        """Make sure that history has tables to write to, for weeks to come."""
        await partitions.prepare(self._engine)

    async def weeks_ahead(self) -> int:
        """For how many weeks after this one history has tables; a store with few is in need of `prune`."""
        return await partitions.weeks_ahead(self._engine)

    async def prune(self, older_than: timedelta, limit: int) -> int:
        """Forget what ended that long ago; of a whole week the answer holds the server's estimate."""
        await self.prepare()
        before = await self._engine.value(_SQL["bound"], older_than)
        # A letter goes before its run, which it shows; the rest goes after.
        removed = await self._remove("dead_letters", before, limit)
        if removed < limit:
            removed += await partitions.drop_outdated(self._engine, before)
        if older_than < _WEEK:
            removed += await self._remove("runs", before, limit - removed, Purpose.GENERAL)
        for what in _AFTER_RUNS:
            removed += await self._remove(what, before, limit - removed)
        return removed

    async def fold(self, limit: int) -> int:
        """Add the oldest tallies up into their totals, unless another process is at it."""
        folded: int = await self._engine.value(_SQL["fold"], limit, self._followed, purpose=Purpose.READ)
        return folded

    async def _remove(self, what: str, before: datetime, limit: int, purpose: Purpose = Purpose.READ) -> int:
        if limit <= 0:
            return 0
        removed: int = await self._engine.value(_SQL[what], before, limit, purpose=purpose)
        return removed
