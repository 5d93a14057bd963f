"""Partitions as a wide-column store keeps them: cells with timestamps, row markers, tombstones over ranges."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from mainspring.adapters.cassandra.rows import Change, Key, Row, Span, Value, only
from mainspring.adapters.cassandra.table import Table

ORIGINAL = 1
"""The timestamp of what is written as original."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value and when it was written; the later wins, at the same time the greater."""

    at: int
    value: Value

    def beats(self, other: "Cell | None") -> bool:
        """Whether this is what a read returns of the two."""
        if other is None or self.at != other.at:
            return other is None or self.at > other.at
        if self.value is None or other.value is None:
            return self.value is None  # a deletion beats a value
        return bool(_comparable(self.value) > _comparable(other.value))


@dataclass(slots=True)
class Partition:
    """One partition of one table."""

    table: Table
    rows: dict[Key, dict[str, Cell]] = field(default_factory=dict)
    markers: dict[Key, int] = field(default_factory=dict)
    """When a row was last inserted: it then exists although all its columns are None."""
    tombstones: list[tuple[Span, int]] = field(default_factory=list)
    points: dict[Key, int] = field(default_factory=dict)
    """Tombstones of one key each, of which there may be many."""
    version: int = 0
    """Grows with every change."""
    _seen: dict[Key, Mapping[str, Value] | None] = field(default_factory=dict)
    """Rows as they were put together for a reader, until they change."""

    def write(self, key: Key, values: Row, *, at: int, insert: bool) -> None:
        """Write some cells of a row; an insert makes the row exist even without any."""
        self.version += 1
        self._seen.pop(key, None)
        cells = self.rows.setdefault(key, {})
        for name, value in values.items():
            cell = Cell(at, value)
            if cell.beats(cells.get(name)):
                cells[name] = cell
        if insert:
            self.markers[key] = max(at, self.markers.get(key, 0))

    def delete(self, span: Span, *, at: int) -> None:
        """Hide all that was written in *span* until *at*; what comes later with an older time stays hidden too."""
        self.version += 1
        self._seen.clear()
        if span.first is not None and len(span.first) == len(self.table.clustering) and span == only(span.first):
            self.points[span.first] = max(at, self.points.get(span.first, 0))
        else:
            self.tombstones.append((span, at))
        for key in [key for key in self.rows if covers(span, key)]:
            if self.markers.get(key, 0) <= at and all(cell.at <= at for cell in self.rows[key].values()):
                del self.rows[key]
                self.markers.pop(key, None)

    def copy(self) -> "Partition":
        """Another one with the same content."""
        rows = {key: dict(cells) for key, cells in self.rows.items()}
        return Partition(self.table, rows, dict(self.markers), list(self.tombstones), dict(self.points))

    def read(self, span: Span) -> Iterator[tuple[Key, Row]]:
        """The rows that exist in *span*, by key."""
        return self.rows_of(key for key in self.rows if covers(span, key))

    def rows_of(self, keys: Iterable[Key]) -> Iterator[tuple[Key, Row]]:
        """The rows that exist among *keys*, by key."""
        for key in sorted(keys, key=_order):
            row = self.row(key)
            if row is not None:
                yield key, row

    def row(self, key: Key) -> Mapping[str, Value] | None:
        """One row without its keys, or None if it doesn't exist."""
        if key not in self.rows:
            return None
        if key not in self._seen:
            self._seen[key] = self._put_together(key)
        return self._seen[key]

    def _put_together(self, key: Key) -> Mapping[str, Value] | None:
        deleted_at = self.points.get(key, 0)
        for span, at in self.tombstones:
            if at > deleted_at and covers(span, key):
                deleted_at = at
        live = {
            name: cell.value for name, cell in self.rows[key].items() if cell.at > deleted_at and cell.value is not None
        }
        if not live and self.markers.get(key, 0) <= deleted_at:
            return None
        return {name: live.get(name) for name in self.table.columns}

    def holds(self, changes: Sequence[Change]) -> bool:
        """Whether the conditions of all *changes* hold."""
        return all(self._holds(change) for change in changes)

    def _holds(self, change: Change) -> bool:
        row = self.row(change.key)
        if change.expected is None:
            return row is None
        return all((None if row is None else row[name]) == value for name, value in change.expected.items())

    def apply(self, changes: Sequence[Change], *, at: int) -> None:
        """Make all *changes*."""
        for change in changes:
            self.write(change.key, change.values, at=at, insert=change.expected is None)


def covers(span: Span, key: Key) -> bool:
    """Whether *key* lies in *span*."""
    return (
        (span.first is None or _prefix(key, span.first) >= _order(span.first))
        and (span.after is None or _prefix(key, span.after) > _order(span.after))
        and (span.last is None or _prefix(key, span.last) <= _order(span.last))
        and (span.before is None or _prefix(key, span.before) < _order(span.before))
    )


def _prefix(key: Key, bound: Key) -> tuple[object, ...]:
    return _order(key[: len(bound)])


@lru_cache(maxsize=10_000)
def _order(key: Key) -> tuple[object, ...]:
    return tuple(map(_comparable, key))


def _comparable(value: Value) -> Any:
    """As the store orders values of one type: text by its bytes, ids by their version and then by theirs."""
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes | int | float):
        return b"" if value is None else value
    return value.bytes[6] >> 4, value.bytes
