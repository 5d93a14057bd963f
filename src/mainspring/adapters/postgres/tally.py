"""What a transaction did, noted in the same transaction: for the figures, and for whoever follows the changes."""

from collections.abc import Sequence
from typing import TypeAlias

from mainspring.adapters.postgres.engine import Connection
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import RunId

Entry: TypeAlias = "tuple[str, str, int, str, RunId]"
"""Owner, lane, kind, what became of it, and the run."""

_SQL = load("work")


async def count(connection: Connection, entries: Sequence[Entry]) -> None:
    """Note what became of runs, one row per group."""
    if entries:
        await connection.execute(_SQL["count"], *zip(*entries, strict=True))
