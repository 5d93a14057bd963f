"""A store of rows in a dictionary, for one process: everything is seen at once and nothing fails."""

from collections.abc import Callable, Sequence

from mainspring.adapters.cassandra.rows import ALL, Change, Key, Put, Row, Span
from mainspring.adapters.cassandra.table import Table
from mainspring.ports.time import Clock
from mainspring.testing.rows.cells import ORIGINAL, Partition

_MICROSECONDS = 1_000_000


class Dictionary:
    """The partitions of all tables, shared by everybody who writes to them."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, Key], Partition] = {}
        self._ballot = ORIGINAL

    def partition(self, table: Table, key: Key) -> Partition:
        """One partition, empty if nothing was ever written to it."""
        assert len(key) == len(table.partition), f"{table.name} has partitions by {tuple(table.partition)}, not {key}"
        return self._partitions.setdefault((table.name, key), Partition(table))

    def ballot(self, now: int) -> int:
        """A timestamp for a conditional batch: later than that of every one before, whatever the clocks say."""
        self._ballot = max(self._ballot + 1, now)
        return self._ballot


class DictionaryRows:
    """`Rows` over a dictionary, by one process's clock."""

    def __init__(self, dictionary: Dictionary, clock: Clock) -> None:
        self._dictionary = dictionary
        self._now: Callable[[], int] = lambda: int(clock.now().timestamp() * _MICROSECONDS)
        self._last = ORIGINAL

    async def get(
        self,
        table: Table,
        partition: Key,
        keys: Sequence[Key] = ((),),
        *,
        settled: bool = False,  # noqa: ARG002 - nothing is ever under way
    ) -> Sequence[Row]:
        """The rows of *partition* that exist among *keys*, in the order of their keys."""
        wanted = set(keys)
        found = self._dictionary.partition(table, partition).read(ALL)
        return [whole(table, partition, key, row) for key, row in found if key in wanted]

    async def slice(
        self, table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        """The first (or last, then backwards) rows of *partition* in *span*."""
        found = [
            whole(table, partition, key, row) for key, row in self._dictionary.partition(table, partition).read(span)
        ]
        return (found[::-1] if backwards else found)[:limit]

    async def put(self, puts: Sequence[Put]) -> None:
        """Write rows plainly."""
        for put in puts:
            check(put)
            partition, key, values = split(put)
            at = ORIGINAL if put.original else self._stamp()
            self._dictionary.partition(put.table, partition).write(key, values, at=at, insert=True)

    async def cas_batch(self, table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        """Apply all *changes* if all their conditions hold, and return None; else the rows as they are."""
        home = self._dictionary.partition(table, partition)
        if home.holds(changes):
            home.apply(changes, at=self._dictionary.ballot(self._now()))
            return None
        return await self.get(table, partition, [change.key for change in changes])

    async def delete_range(self, table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        """Remove all rows in *span*."""
        at = self._stamp() if until is None else until
        self._dictionary.partition(table, partition).delete(span, at=at)

    def _stamp(self) -> int:
        """Drivers never give the same timestamp twice."""
        self._last = max(self._last + 1, self._now())
        return self._last


def whole(table: Table, partition: Key, key: Key, row: Row) -> Row:
    """*row* with its keys."""
    return {
        **dict(zip(table.partition, partition, strict=True)),
        **dict(zip(table.clustering, key, strict=True)),
        **row,
    }


def split(put: Put) -> tuple[Key, Key, Row]:
    """A row's partition, its place there, and its other columns that have a value."""
    partition = tuple(put.row[name] for name in put.table.partition)
    key = tuple(put.row[name] for name in put.table.clustering)
    return partition, key, {name: put.row[name] for name in put.table.columns if put.row.get(name) is not None}


def check(put: Put) -> None:
    """Refuse what no reviewer should let pass: a plain write over a column that conditional batches decide."""
    unknown = put.row.keys() - {*put.table.partition, *put.table.clustering, *put.table.columns}
    assert not unknown, f"{put.table.name} has no column {sorted(unknown)}"
    mixed = put.table.conditional & {name for name, value in put.row.items() if value is not None}
    assert put.original or not mixed, f"{sorted(mixed)} of {put.table.name} are written by conditional batches"
