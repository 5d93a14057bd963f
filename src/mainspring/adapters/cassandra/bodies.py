"""What a run executes, and for whom, in one column of its row: its body.

A node pays for each column of a row whenever it decides about the row, and again whenever it puts its files in order.
None of these changes but by an edit, which writes the whole body anew. A body begins with when its run was accepted: of
two processes that stored one run, the later one's counts, in this column as in those of its times.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

from mainspring.adapters.cassandra.rows import ALL, Change, Key, Put, Row, Rows, Span, Value
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import RUN
from mainspring.adapters.cassandra.values import content, identity

_SHARED = ("job_id", "owner", "project", "kind", "handler", "lane", "priority", "timeout", "retry", "blob")
"""Columns that are the same in many runs, and are written and read once for all of them."""
_COLUMNS = frozenset({*_SHARED, "created_at", "payload"})
_AT_FIRST: Mapping[str, Value] = MappingProxyType({"attempt": 0, "failures": 0, "losses": 0})
"""What takes no room until it changes. Nothing compares it."""
_BEGINNING = struct.Struct(">q")
_END = b"\n"
"""Between what is shared and the payload; JSON has none."""


def body_of(row: Row) -> bytes:
    """The body of a run."""
    payload = b"" if row["payload"] is None else content(row, "payload")
    own = (None if row["job_id"] == row["id"] else row["job_id"], *[row[name] for name in _SHARED[1:]])
    return b"".join((_BEGINNING.pack(row["created_at"]), _written(own), _END, payload))


def columns_of(body: bytes, run_id: UUID) -> dict[str, Value]:
    """The columns that lie in the body of the run with that id."""
    shared, _, payload = body[_BEGINNING.size :].partition(_END)
    columns = _read(shared)
    (created_at,) = _BEGINNING.unpack_from(body)
    return {**columns, "job_id": columns["job_id"] or run_id, "created_at": created_at, "payload": payload}


@lru_cache(maxsize=1024)
def _written(shared: tuple[Value, ...]) -> bytes:
    said = {name: value for name, value in zip(_SHARED, shared, strict=True) if value is not None}
    return json.dumps(said, separators=(",", ":"), default=str).encode()


@lru_cache(maxsize=1024)
def _read(shared: bytes) -> Row:
    columns: dict[str, Any] = {**dict.fromkeys(_SHARED), **json.loads(shared)}
    job_id = columns["job_id"]
    return {**columns, "job_id": None if job_id is None else UUID(job_id)}


class WithBodies:
    """Rows of which those of runs have bodies, for whoever knows columns alone.

    Rows that were stored before there were bodies have all columns, and are read as they are.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def get(
        self, table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        """As `Rows.get`."""
        return _unfolded(table, await self._rows.get(table, partition, keys, settled=settled))

    async def slice(
        self, table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        """As `Rows.slice`."""
        return _unfolded(table, await self._rows.slice(table, partition, span, limit=limit, backwards=backwards))

    async def put(self, puts: Sequence[Put]) -> None:
        """As `Rows.put`; of a run, all columns that belong to its body are named."""
        await self._rows.put([_folded(put) if put.table is RUN else put for put in puts])

    async def cas_batch(self, table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        """As `Rows.cas_batch`; whoever changes any column of a body names all of them."""
        if table is RUN:
            changes = [change if _COLUMNS.isdisjoint(change.values) else _rewritten(change) for change in changes]
        return await self._rows.cas_batch(table, partition, changes)

    async def delete_range(self, table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        """As `Rows.delete_range`."""
        await self._rows.delete_range(table, partition, span, until=until)


def unfolded(row: Row) -> Row:
    """The row of a run with all columns, as it was before it was stored."""
    columns = {name: value if row.get(name) is None else row[name] for name, value in _AT_FIRST.items()}
    body = cast("bytes | None", row.get("body"))
    if body is not None:
        columns |= columns_of(body, identity(row, "id"))
    return {**row, **columns}


def whole(row: Row, values: Row) -> Row:
    """The new *values* of a run, with the rest of its body if they are about any of it."""
    return values if _COLUMNS.isdisjoint(values) else {**{name: row[name] for name in _COLUMNS}, **values}


def _folded(put: Put) -> Put:
    row = {
        name: value
        for name, value in put.row.items()
        if name not in _COLUMNS and (name not in _AT_FIRST or value != _AT_FIRST[name])
    }
    return Put(table=RUN, row={**row, "body": body_of(put.row)}, original=put.original)


def _rewritten(change: Change) -> Change:
    body = body_of({**change.values, "id": change.key[0]})
    values = {name: value for name, value in change.values.items() if name not in _COLUMNS}
    return Change(key=change.key, values={**values, "body": body}, expected=change.expected)


def _unfolded(table: Table, rows: Sequence[Row]) -> Sequence[Row]:
    return [unfolded(row) for row in rows] if table is RUN else rows
