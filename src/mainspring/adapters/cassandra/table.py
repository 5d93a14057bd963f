"""What a table is, as data: the CQL schema, the statements and the simulated store all follow from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Kind(StrEnum):
    """A column's type, by its name in CQL. Instants and durations are whole microseconds: CQL's own keep less."""

    BIGINT = "bigint"
    BLOB = "blob"
    BOOLEAN = "boolean"
    DOUBLE = "double"
    INT = "int"
    TEXT = "text"
    UUID = "uuid"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """One table. Tables that are indexes may hold an entry too many, never one too few for longer than an audit."""

    name: str
    comment: str
    partition: Mapping[str, Kind]
    clustering: Mapping[str, Kind]
    columns: Mapping[str, Kind]
    conditional: frozenset[str] = frozenset()
    """Columns that conditional batches write; plainly they are only written as `original`."""
    lifetime: timedelta | None = None
    """After which rows vanish by themselves; never for rows that conditional batches touch: it counts per cell."""

    def partition_of(self, row: Mapping[str, object]) -> tuple[object, ...]:
        """The key of the partition that *row* belongs to."""
        return tuple(row[name] for name in self.partition)

    def key_of(self, row: Mapping[str, object]) -> tuple[object, ...]:
        """The place of *row* within its partition."""
        return tuple(row[name] for name in self.clustering)
