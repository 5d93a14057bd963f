"""The Upkeep port on SQLite."""

import json
from datetime import timedelta
from functools import partial

from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import micros
from mainspring.adapters.sqlite.statements import load

_SQL = load("upkeep")


class SqliteUpkeep:
    """Bounded pieces of housekeeping, each one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def prune(self, older_than: timedelta, limit: int) -> int:
        """Forget what ended that long ago."""
        return await self._engine.write(partial(_prune, older_than=older_than, limit=limit))

    async def fold(self, limit: int) -> int:  # noqa: ARG002 - the port's signature
        """Nothing to fold: there is one writer, and it adds up at once."""
        return 0


def _prune(transaction: Transaction, older_than: timedelta, limit: int) -> int:
    before = transaction.now - micros(older_than)
    runs = transaction.value(_SQL["old_runs"], before, limit)
    for statement in ("forget_output", "forget_dead_letters", "forget_hidden", "forget_runs"):
        transaction.execute(_SQL[statement], runs)
    removed = len(json.loads(runs))
    for statement in ("old_keys", "old_sessions", "old_blobs"):
        transaction.execute(_SQL[statement], before, limit)
        removed += transaction.changes()
    return removed
