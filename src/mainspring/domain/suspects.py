"""Suspects: runs that were lost together with others, again and again, so that each must run alone.

A suspect waits in a lane of its own beside the one that it belongs to. No claim of that lane meets it, and none pays
for it: a worker with nothing else in hand asks for suspects by name.
"""

from typing import Final

from mainspring.domain.ids import Lane

EXPIRED: Final = 2
"""What a shared loss says against a run when its worker's session has ended and nobody has come back."""
RESTARTED: Final = 1
"""The same when the worker came back under its name and says so itself. Restarts, deployments and power cuts end many
runs that did nothing wrong, so that they take twice as many."""
UNKNOWN: Final = 0
"""The same when nobody knows what else was lost: nothing."""
SUSPECTED_AT: Final = 2 * EXPIRED
"""What shared losses in a row must add up to until a run is a suspect: two workers that are gone, or four restarts."""
WAITS: Final = "suspect: waits for an otherwise empty worker, because two or more workers in a row died while it ran"
WORKERS_PER_EMPTIED: Final = 4
"""Of so many workers of a lane one at most is emptied for suspects; of fewer, one."""

MARK: Final = "\x1fsuspects"
"""At the end of a lane's name: no client can give it one, because of the control character."""


def waiting_lane(lane: Lane, *, suspect: bool) -> Lane:
    """Where a run of *lane* waits, whatever it has been until now."""
    home = home_lane(lane)
    return Lane(home + MARK) if suspect else home


def home_lane(lane: str) -> Lane:
    """The lane that a run belongs to, from the one in which it waits."""
    return Lane(lane.removesuffix(MARK))


def is_for_suspects(lane: str) -> bool:
    """Whether only suspects wait in this lane."""
    return lane.endswith(MARK)
