"""Values of rows under the types that their tables give them."""

from typing import cast
from uuid import UUID

from mainspring.adapters.cassandra.rows import Row


def text(row: Row, column: str) -> str:
    """The value of a text column that was written."""
    return cast("str", row[column])


def number(row: Row, column: str) -> int:
    """The value of an integer column that was written."""
    return cast("int", row[column])


def identity(row: Row, column: str) -> UUID:
    """The value of a uuid column that was written."""
    return cast("UUID", row[column])


def content(row: Row, column: str) -> bytes:
    """The value of a blob column that was written."""
    return cast("bytes", row[column])
