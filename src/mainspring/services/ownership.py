"""Who does what, without an election: everybody ranks the live schedulers by hash and knows the first.

Members may disagree for a while, because each sees births and deaths at its own time. Then two do the same work, and
the store refuses the second; or nobody does, for no longer than it takes to look again. Neither needs a leader that
is proven to be alone, which no lease can give anyway.
"""

import hashlib
from collections.abc import Callable, Iterable

from mainspring.domain.ids import Lane

TIMETABLE = "timetable"
RESCUE = "rescue"
PRUNING = "pruning"

Owns = Callable[[str], bool]
"""Whether this process is the one to do a piece of work, as far as it knows."""


def ticking(lane: Lane) -> str:
    """The work of waking a lane's workers."""
    return f"ticker/{lane}"


def owner(work: str, members: Iterable[str]) -> str | None:
    """The member to do *work*: when one leaves, only what it did moves elsewhere. None without members."""
    return max(members, key=lambda member: hashlib.sha256(f"{work}\0{member}".encode()).digest(), default=None)
