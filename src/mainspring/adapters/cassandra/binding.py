"""Values as the protocol sends them, by what a table says that they are.

The driver would come to the same bytes, and takes longer for them than for all the rest of a write.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from cassandra.query import BatchStatement, BatchType, BoundStatement

from mainspring.adapters.cassandra.rows import Value
from mainspring.adapters.cassandra.table import Kind, Table

_Serialize = Callable[[Any], bytes]

_SERIALIZE: Mapping[Kind, _Serialize] = {
    Kind.BIGINT: struct.Struct(">q").pack,
    Kind.BLOB: bytes,
    Kind.BOOLEAN: struct.Struct(">?").pack,
    Kind.DOUBLE: struct.Struct(">d").pack,
    Kind.INT: struct.Struct(">i").pack,
    Kind.TEXT: str.encode,
    Kind.UUID: lambda identity: identity.bytes,
}
TIMESTAMP = ""
"""Stands for a timestamp among names of columns."""


Bound = tuple[Any, Sequence[bytes | None]]
"""A prepared statement with the values for its markers."""


def batch_of(statements: Sequence[Bound]) -> BatchStatement:
    """An unlogged batch within one partition: where the first goes, all go, and the driver need ask only it."""
    batch = BatchStatement(batch_type=BatchType.UNLOGGED)
    first, *others = statements
    batch.add(bound(first))
    for prepared, values in others:
        batch._add_statement_and_params(True, prepared.query_id, values)  # noqa: SLF001 - what `add` ends with
    return batch


def bound(statement: Bound) -> BoundStatement:
    """One that goes alone."""
    prepared, values = statement
    alone = BoundStatement(prepared)
    alone.values = values
    return alone


def serialized(table: Table, columns: tuple[str, ...], values: Iterable[Value]) -> Sequence[bytes | None]:
    """*values* as the protocol sends them, for markers that stand for *columns* one after the other."""
    return [
        None if value is None else serialize(value)
        for serialize, value in zip(_serializers(table, columns), values, strict=True)
    ]


@cache
def _serializers(table: Table, columns: tuple[str, ...]) -> Sequence[_Serialize]:
    kinds = {**table.partition, **table.clustering, **table.columns, TIMESTAMP: Kind.BIGINT}
    return [_SERIALIZE[kinds[name]] for name in columns]
