"""Walks over partitions, newest first by id, that keep no state: each look begins before an id.

A look answers with at most so many rows, and whether there may be more. Looks are put together: month after month,
shard beside shard.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.layout import SHARDS, month_of, slot_of_id
from mainspring.adapters.cassandra.rows import ALL, Key, Row, Rows, Span
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import RUN, SLOT
from mainspring.adapters.cassandra.values import identity, number

_FEWEST = 8
"""Rows that are asked of each of several walks at least."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Rows with their ids in the column `id`, newest first, and whether there may be more behind them."""

    rows: Sequence[Row]
    more: bool


Look = Callable[[UUID | None, int], Awaitable[Looked]]
"""At most so many rows before an id (None: from the newest on). If there are more, at least one."""


def by_month(rows: Rows, table: Table, subject: str | UUID, months: Sequence[int]) -> Look:
    """A walk over an index that is split by months; *months* are those to look at, newest first."""

    async def look(before: UUID | None, most: int) -> Looked:
        found: list[Row] = []
        for month in months:
            if len(found) < most and (before is None or month <= month_of(before)):
                most_left = most - len(found)
                found += await rows.slice(table, (subject, month), _below(before), limit=most_left, backwards=True)
        return Looked(found, len(found) >= most)

    return look


def of_partition(rows: Rows, table: Table, partition: Key) -> Look:
    """A walk over one partition."""

    async def look(before: UUID | None, most: int) -> Looked:
        found = await rows.slice(table, partition, _below(before), limit=most, backwards=True)
        return Looked(found, len(found) >= most)

    return look


def all_runs(rows: Rows) -> Look:
    """A walk over the home partitions of all shards, minute by minute."""
    return beside([_of_shard(rows, shard) for shard in range(SHARDS)])


def beside(looks: Sequence[Look]) -> Look:
    """Several walks as one."""

    async def look(before: UUID | None, most: int) -> Looked:
        each = max(_FEWEST, 2 * most // max(len(looks), 1))
        answers = await abreast(lambda one: one(before, each), looks)
        # Whoever has more may have it just behind its last row, so that below this nothing is known for sure.
        known_from = max((_id(answer.rows[-1]) for answer in answers if answer.more), default=UUID(int=0))
        rows = sorted((row for answer in answers for row in answer.rows if _id(row) >= known_from), key=_id)[::-1]
        return Looked(rows[:most], len(rows) > most or any(answer.more for answer in answers))

    return look


def _of_shard(rows: Rows, shard: int) -> Look:
    async def look(before: UUID | None, most: int) -> Looked:
        found: list[Row] = []
        span = ALL if before is None else Span(last=(slot_of_id(before),))
        while slots := await rows.slice(SLOT, (shard,), span, limit=most, backwards=True):
            for entry in slots:
                home = (shard, number(entry, "slot"))
                found += await rows.slice(RUN, home, _below(before), limit=most - len(found), backwards=True)
                if len(found) >= most:
                    return Looked(found, more=True)
            span = Span(before=(number(slots[-1], "slot"),))
        return Looked(found, more=False)

    return look


def _below(before: UUID | None) -> Span:
    return ALL if before is None else Span(before=(before,))


def _id(row: Row) -> UUID:
    return identity(row, "id")
