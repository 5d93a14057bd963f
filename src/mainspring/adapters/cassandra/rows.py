"""All that the adapter asks of a wide-column store: five verbs, each within one partition, none a transaction.

The protocols of this adapter are written over this port, so that they run unchanged over a dictionary with the weakest
semantics that a cluster can show (see `mainspring.testing.rows`) and over CQL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from mainspring.adapters.cassandra.table import Table
from mainspring.domain.hot import hot
from mainspring.errors import StoreUnavailable

Value = None | bool | int | float | str | bytes | UUID
Key = tuple[Value, ...]
Row = Mapping[str, Value]
"""Column by column, keys included; a column that was never written is None."""

MOST_CHANGES = 100
"""Rows that one conditional batch may touch."""
MOST_BYTES = 40 * 1024
"""What the values of one batch may come to: servers refuse batches over 50 KiB."""


class UnknownOutcome(StoreUnavailable):
    """A conditional batch was sent and no answer came: it may be applied now, later or never.

    A settled read of the same rows ends the doubt: afterwards it is applied, or never will be.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of clustering keys. Each bound may be a prefix and then means all keys that begin with it."""

    first: Key | None = None
    """From here on, itself included."""
    after: Key | None = None
    """From here on, itself excluded."""
    last: Key | None = None
    """Up to here, itself included."""
    before: Key | None = None
    """Up to here, itself excluded."""


ALL = Span()


def only(key: Key) -> Span:
    """The span of one key."""
    return Span(first=key, last=key)


@hot
class Put:
    """A row to write without asking, its key included; columns that are None are left out."""

    table: Table
    row: Row
    original: bool = False
    """Write at timestamp 1, which is older than every conditional write: repeating it changes nothing that was decided
    since. The only way in which a column that conditional batches write may be written plainly."""


@hot
class Change:
    """A row to change under a condition; together with the others of its batch, or not at all."""

    key: Key
    values: Row
    expected: Row | None = None
    """Columns with the values that they must have; a missing row has None in each. None: there must be no such row."""


class Rows(Protocol):
    """Reads and plain writes are by quorum: a write that was acknowledged is seen by every later read.

    All verbs raise StoreUnavailable if there is no answer in time; a plain write may then have been made, or be made
    later.
    """

    async def get(
        self, table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        """The rows of *partition* that exist among *keys*, in the order of their keys.

        With *settled*, conditional batches on them that are under way are finished or ruled out first, and every later
        read sees what this one did; a plain read may also see what nobody has acknowledged, and the next one may not.
        """
        ...

    async def slice(
        self, table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        """The first (or last, then backwards) rows of *partition* in *span*."""
        ...

    async def put(self, puts: Sequence[Put]) -> None:
        """Write rows plainly, at the writer's own time; not together: others may see some before the rest."""
        ...

    async def cas_batch(self, table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        """Apply all *changes* if all their conditions hold, and return None.

        Otherwise return the rows that exist among those named, with at least their keys and the columns that were
        compared. Raises UnknownOutcome.
        """
        ...

    async def delete_range(self, table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        """Remove all rows in *span*, written before now by the writer's own time, conditionally or not.

        With *until*, in microseconds, what was written since then stays: whoever cleans up takes nothing away that
        somebody else has just written anew.
        """
        ...
