"""Values as the protocol sends them, by what a table says that they are.

The driver would come to the same bytes, and takes longer for them than for all the rest of a write.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from cassandra.query import BoundStatement

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


def bound(prepared: Any, table: Table, columns: tuple[str, ...], values: Sequence[Value]) -> BoundStatement:
    """The statement with *values* for its markers, which stand for *columns* one after the other."""
    statement = BoundStatement(prepared)
    statement.values = [
        None if value is None else serialize(value)
        for serialize, value in zip(_serializers(table, columns), values, strict=True)
    ]
    return statement


@cache
def _serializers(table: Table, columns: tuple[str, ...]) -> Sequence[_Serialize]:
    kinds = {**table.partition, **table.clustering, **table.columns, TIMESTAMP: Kind.BIGINT}
    return [_SERIALIZE[kinds[name]] for name in columns]
