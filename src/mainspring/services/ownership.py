"""The pieces of work that live schedulers share among themselves, each done by its rendezvous owner."""

from collections.abc import Callable

from mainspring.domain.ids import Lane

RESCUE = "rescue"
PRUNING = "pruning"

Owns = Callable[[str], bool]
"""Whether this process is the one to do a piece of work, as far as it knows."""


def firing(shard: int) -> str:
    """The work of firing a shard of the timetable."""
    return f"timetable/{shard}"


def ticking(lane: Lane) -> str:
    """The work of waking a lane's workers."""
    return f"ticker/{lane}"
