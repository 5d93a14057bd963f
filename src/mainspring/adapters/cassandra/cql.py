"""`Rows` over CQL: each verb is one statement, or a few within one partition each."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from mainspring.adapters.cassandra.binding import TIMESTAMP, Bound, batch_of, bound, serialized
from mainspring.adapters.cassandra.driver import Answer, Bridge, Driver, Manner
from mainspring.adapters.cassandra.rows import ALL, MOST_BYTES, MOST_CHANGES, Change, Key, Put, Row, Span
from mainspring.adapters.cassandra.statements import among, delete, insert, restricted, select, update
from mainspring.adapters.cassandra.table import Table

ORIGINAL = 1
"""The timestamp of what is written as original: before every ballot."""
MOST_UNDER_WAY = 128
"""Statements that one loop has sent and not heard of: more make a node slower, not faster."""
APPLIED = "[applied]"
NOWHERE = ("",)
"""The only key that a partition can't have; servers don't even want to be asked for it."""


class CqlRows:
    """Belongs to the event loop that made it. Values are taken as they are: a table's kinds say what they must be."""

    def __init__(self, driver: Driver) -> None:
        self._bridge = Bridge(driver)
        self._keyspace = driver.address.keyspace
        self._room = asyncio.Semaphore(MOST_UNDER_WAY)

    async def get(
        self, table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        """As `Rows.get`; a settled read is at SERIAL."""
        if not keys or partition == NOWHERE:
            return ()
        restriction, values = among(table, keys)
        manner = Manner.SETTLED if settled else Manner.PLAIN
        return await self._run(select(self._keyspace, table, restriction), (*partition, *values), manner)

    async def slice(
        self, table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        """As `Rows.slice`."""
        if limit < 1 or partition == NOWHERE:
            return ()
        where = restricted(table, span)
        text = select(self._keyspace, table, where.text, backwards=backwards and bool(table.clustering), limited=True)
        return await self._run(text, (*partition, *where.values, limit))

    async def put(self, puts: Sequence[Put]) -> None:
        """As `Rows.put`: an unlogged batch per partition, all at once; a failure is told when all have ended."""
        answers = await asyncio.gather(*(self._write(together) for together in _batches(puts)), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def cas_batch(self, table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        """As `Rows.cas_batch`. Sent as a batch even when it is one row: only a batch's answer names its rows."""
        statements: list[Bound] = []
        for change in changes:
            written = tuple(change.values)
            compared = None if change.expected is None else tuple(change.expected)
            text, columns = _conditional(self._keyspace, table, written, compared)
            values = serialized(table, columns, _values(partition, change))
            statements.append((await self._bridge.prepared(text), values))
        async with self._room:
            answer = await self._bridge.run(batch_of(statements), Manner.DECIDING)
        return None if answer[0][APPLIED] else _existing(table, answer)

    async def delete_range(self, table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        """As `Rows.delete_range`."""
        where = restricted(table, span)
        stamp = () if until is None else (until,)
        text = delete(self._keyspace, table, where.text, stamped=bool(stamp))
        await self._run(text, (*stamp, *partition, *where.values))

    async def _run(self, text: str, values: Sequence[object], manner: Manner = Manner.PLAIN) -> Answer:
        statement = await self._repeatable(text)
        async with self._room:
            return await self._bridge.run(statement.bind(values), manner)

    async def _write(self, puts: Sequence[Put]) -> None:
        statements: list[Bound] = []
        for put in puts:
            columns = tuple([name for name, value in put.row.items() if value is not None])
            prepared = await self._repeatable(insert(self._keyspace, put.table, columns, stamped=put.original))
            values = [put.row[name] for name in columns]
            if put.original:
                columns, values = (*columns, TIMESTAMP), [*values, ORIGINAL]
            statements.append((prepared, serialized(put.table, columns, values)))
        statement = bound(statements[0]) if len(statements) == 1 else batch_of(statements)
        statement.is_idempotent = True
        async with self._room:
            await self._bridge.run(statement)

    async def _repeatable(self, text: str) -> Any:
        statement = await self._bridge.prepared(text)
        statement.is_idempotent = True
        return statement


def _batches(puts: Sequence[Put]) -> Iterator[Sequence[Put]]:
    """The writes by partition, in pieces that servers take."""
    by_partition: dict[tuple[object, ...], list[Put]] = {}
    for put in puts:
        by_partition.setdefault((put.table.name, *put.table.partition_of(put.row)), []).append(put)
    for group in by_partition.values():
        piece: list[Put] = []
        size = 0
        for put in group:
            bytes_of_row = _size(put.row)
            if piece and (len(piece) == MOST_CHANGES or size + bytes_of_row > MOST_BYTES):
                yield piece
                piece, size = [], 0
            piece.append(put)
            size += bytes_of_row
        yield piece


def _size(row: Row) -> int:
    return sum(len(value) if isinstance(value, bytes | str) else 16 for value in row.values() if value is not None)


@cache
def _conditional(
    keyspace: str, table: Table, written: tuple[str, ...], compared: tuple[str, ...] | None
) -> tuple[str, tuple[str, ...]]:
    """The statement of a change, and the columns that its markers stand for."""
    keys = (*table.partition, *table.clustering)
    if compared is None:
        columns = (*keys, *written)
        return insert(keyspace, table, columns, absent=True), columns
    # CQL can't compare without writing: what is only compared is written as it was found.
    written = written or compared
    return update(keyspace, table, written, compared), (*written, *keys, *compared)


def _values(partition: Key, change: Change) -> Key:
    """The values for the markers of a change."""
    if change.expected is None:
        return (*partition, *change.key, *change.values.values())
    values = change.values or change.expected
    return (*values.values(), *partition, *change.key, *change.expected.values())


def _existing(table: Table, answer: Answer) -> Sequence[Row]:
    """The rows by key: some servers answer in another order, and with a row of nulls for each that doesn't exist."""
    found = {}
    for row in answer:
        named = {name: value for name, value in row.items() if name != APPLIED}
        if named and all(named.get(name) is not None for name in (*table.partition, *table.clustering)):
            found[table.key_of(named)] = named
    return list(found.values())
