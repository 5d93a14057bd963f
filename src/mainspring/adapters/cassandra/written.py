"""Directory entries that this process has written already: most runs of a minute need the same few."""

from collections.abc import Sequence

from mainspring.adapters.cassandra.layout import month_at, slot_of
from mainspring.adapters.cassandra.rows import Put, Value
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import DUE_SLOT, OWNER, REVISIT, SLOT
from mainspring.adapters.cassandra.values import number

_RECENT = 2
"""Minutes. A directory's entries are removed only once their minute is long over; older ones are always written."""
_MOST = 10_000

_Entry = tuple[str, tuple[Value, ...]]


class Written:
    """Remembers entries of directories for as long as nobody can have removed them."""

    def __init__(self) -> None:
        self._minute = 0
        self._entries: set[_Entry] = set()

    def fresh(self, puts: Sequence[Put], now: int) -> Sequence[Put]:
        """*puts* without repetitions, and without what was remembered in this minute."""
        self._forget(now)
        seen: set[_Entry] = set()
        kept = []
        for put in puts:
            entry = _entry(put)
            if entry is None:
                kept.append(put)
            elif entry not in self._entries and entry not in seen:
                seen.add(entry)
                kept.append(put)
        return kept

    def remember(self, puts: Sequence[Put], now: int) -> None:
        """These were acknowledged."""
        for put in puts:
            entry = _entry(put)
            if entry is not None and _recent(put, now) and len(self._entries) < _MOST:
                self._entries.add(entry)

    def _forget(self, now: int) -> None:
        if slot_of(now) != self._minute:
            self._minute = slot_of(now)
            self._entries.clear()


_MINUTES: dict[Table, str] = {SLOT: "slot", DUE_SLOT: "slot", REVISIT: "at"}


def _entry(put: Put) -> _Entry | None:
    """What tells entries of directories apart; None for rows that are written once anyway."""
    if put.table not in _MINUTES and put.table is not OWNER:
        return None
    return put.table.name, tuple(put.row.values())


def _recent(put: Put, now: int) -> bool:
    if put.table is OWNER:
        return number(put.row, "month") >= month_at(now)
    return number(put.row, _MINUTES[put.table]) >= slot_of(now) - _RECENT
