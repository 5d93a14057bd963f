"""Rows of runs that the next claim will want, read while the one before is being decided."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.due import Entry
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import read
from mainspring.errors import StoreUnavailable

_GOOD_FOR = 1.0
"""Seconds. Nothing depends on it but how often a batch meets what others have changed meanwhile."""


class Ahead:
    """What was read last. A run that waits under the same fence is still as it was read."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rows: Mapping[UUID, Row] = {}
        self._read_at = 0.0

    async def read(self, entries: Sequence[Entry]) -> None:
        """Read the runs of *entries*; whoever wants them reads what is missing."""
        moment = self._context.clock.monotonic()
        with suppress(StoreUnavailable):
            self._rows = await read(self._context, [entry.id for entry in entries])
            self._read_at = moment

    def take(self) -> Mapping[UUID, Row]:
        """What was read a moment ago, once."""
        rows, self._rows = self._rows, {}
        recent = self._context.clock.monotonic() - self._read_at < _GOOD_FOR
        return rows if recent else {}
