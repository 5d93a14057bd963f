"""Copies of new runs in their entries of the due index: who claims one needn't read its row.

As long as a run waits under its first fence, it is what it was when it was stored: every edit, hold and hand-over
raises the fence. So a copy says the truth about a run, or the conditional batch finds another fence, a ticket, or
another wake time, and refuses. Whoever is refused reads the row.
"""

from mainspring.adapters.cassandra.bodies import body_of, columns_of
from mainspring.adapters.cassandra.due import Entry
from mainspring.adapters.cassandra.layout import home_of
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.tables import RUN
from mainspring.domain.run import State

DOUBTFUL = ("wake_at",)
"""What may differ though the fence is the same: of two processes that stored one run, the later time counts."""

_MOST_BYTES = 1024
"""A larger run is read: its entry is looked at, and read again by whoever clears up, more often than it is claimed."""
_BEFORE_BODIES = b"{"
"""What a copy began with before it was a body, which begins with an instant. Such runs are read."""
_FIRST: Row = {
    **dict.fromkeys(RUN.columns),
    "state": int(State.WAITING),
    "version": 1,
    "fence": 0,
    "attempt": 0,
    "failures": 0,
    "losses": 0,
}


def copied(row: Row) -> bytes | None:
    """What the entry of a run that waits says about it; None if that is too much, or it isn't new any more."""
    if row["fence"] != 0 or row.get("ticket") is not None or row["due_at"] != row["wake_at"]:
        return None
    copy = body_of(row)
    return copy if len(copy) <= _MOST_BYTES else None


def copy_of(entry: Entry) -> Row | None:
    """The run's row, as far as a hand-over and its settlement need it; None if the entry doesn't say."""
    if entry.copy is None or entry.copy.startswith(_BEFORE_BODIES):
        return None
    shard, slot = home_of(entry.id)
    return {
        **_FIRST,
        **columns_of(entry.copy, entry.id),
        "shard": shard,
        "slot": slot,
        "id": entry.id,
        "due_at": entry.since,
        "wake_at": entry.since,
        "indexed_at": entry.wake_at,
    }
