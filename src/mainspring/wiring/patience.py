"""Waiting for a store that isn't there yet: who is started before it needn't be started again."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from mainspring.errors import StoreUnavailable
from mainspring.ports.time import Clock, Random

FIRST_PAUSE = timedelta(milliseconds=250)
LONGEST_PAUSE = timedelta(seconds=5)

_MOST_DOUBLINGS = 16

T = TypeVar("T")


def _tell_nobody(_error: StoreUnavailable) -> None:
    pass


async def once_there(
    attempt: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    random: Random,
    at_most: timedelta | None = None,
    awaiting: Callable[[StoreUnavailable], None] = _tell_nobody,
) -> T:
    """What *attempt* returns, which is repeated while it raises StoreUnavailable: *at_most* so long, or else for ever.

    *awaiting* is told of each failure that another attempt will follow. Every other error is raised at once: waiting
    wouldn't help.
    """
    deadline = None if at_most is None else clock.monotonic() + at_most.total_seconds()
    failures = 0
    while True:
        try:
            return await attempt()
        except StoreUnavailable as error:
            if deadline is not None and clock.monotonic() >= deadline:
                raise
            awaiting(error)
        failures += 1
        await clock.sleep(_pause(failures, random))


def _pause(failures: int, random: Random) -> timedelta:
    """Longer with each failure, and never the same for a whole cluster."""
    doubled: timedelta = FIRST_PAUSE * (1 << min(failures - 1, _MOST_DOUBLINGS))
    return min(doubled, LONGEST_PAUSE) * (0.5 + random.uniform() / 2)
