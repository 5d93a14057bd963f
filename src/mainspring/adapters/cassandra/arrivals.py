"""Which changes this process has read lately, in the order in which it did.

The log of changes is written plainly, by many clocks: an entry may come to light behind one that was read long before.
Whoever follows therefore goes on from how many entries had been read when it last looked, not from an instant; the
instant only says where to begin to read.
"""

from collections.abc import Sequence
from uuid import UUID

from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.values import identity, number
from mainspring.ports.changes import MOST_BEHIND

MOST_REMEMBERED = 2 * MOST_BEHIND
"""Beyond this, the older half is forgotten before its time: under such a load nobody names changes one by one."""

Entry = tuple[int, UUID, int, int]


class Arrivals:
    """Numbers entries as they are read; those of so long ago that nobody reads them any more are forgotten."""

    def __init__(self, *, most: int = MOST_REMEMBERED) -> None:
        self.count = 0
        """How many have arrived."""
        self.horizon = 0
        """Entries from before that instant are forgotten, and not taken again."""
        self._most = most
        self._rows: dict[Entry, tuple[int, Row]] = {}

    def take(self, rows: Sequence[Row]) -> None:
        """These were read."""
        for row in rows:
            entry = number(row, "at"), identity(row, "id"), number(row, "fence"), number(row, "state")
            if entry[0] >= self.horizon and entry not in self._rows:
                self.count += 1
                self._rows[entry] = self.count, row
        if len(self._rows) > self._most:
            self.forget(sorted(entry[0] for entry in self._rows)[len(self._rows) // 2])

    def after(self, seen: int) -> Sequence[Row]:
        """All that arrived later than the first *seen*, whoever read it."""
        return [row for arrived, row in self._rows.values() if arrived > seen]

    def forget(self, before: int) -> None:
        """Entries from before that instant needn't be known any more."""
        self.horizon = max(self.horizon, before)
        self._rows = {entry: arrival for entry, arrival in self._rows.items() if entry[0] >= before}
