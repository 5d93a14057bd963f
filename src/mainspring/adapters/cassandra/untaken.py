"""What one process knows of a shelf as one who takes tickets: which entries lead to no run that could have one."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mainspring.adapters.cassandra.due import Entry
from mainspring.adapters.cassandra.shelf import Shelf


class Untaken(Shelf):
    """A shelf of which nothing is removed: claims still need what has a ticket.

    What was listed with a ticket is passed over unread. A backlog that outlives its grace would otherwise be looked up
    whenever anything is added to it.
    """

    def _entries(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Entry]:
        entries = super()._entries(rows)
        self.drop(entry for entry in entries if entry.ticketed)
        return entries

    async def _take_away(self, minutes: Sequence[int], littered: Collection[int], to: int, now: int) -> None:
        """It is enough not to look there again."""
