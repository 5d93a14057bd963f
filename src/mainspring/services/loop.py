"""Repeating a step until told to stop: waits that a stop cuts short, and patience with a store that says no."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.time import Clock, Random
from mainspring.services.interruption import Interruption, Wait

FIRST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=5)

Step = Callable[[], Awaitable[timedelta]]
"""Does a bounded piece of work and returns the wait until the next."""

_log = get_logger(__name__)


async def repeat(step: Step, stop: asyncio.Event, *, service: str, clock: Clock, random: Random, wait: Wait) -> None:
    """Repeat *step* until *stop* is set, a running step being finished first.

    A store that says no is asked again, after a pause that grows; any other error is a fault and ends the loop.
    """
    failures = 0
    async with Interruption(stop) as interruption:
        while not stop.is_set():
            try:
                pause = await step()
            except StoreError as error:
                failures += 1
                pause = pause_after(failures, random.uniform())
                _log.warning("service.failed", service=service, error=repr(error), retry_in=pause.total_seconds())
                await interruption.wait(clock.sleep, pause)
            else:
                failures = 0
                await interruption.wait(wait, pause)


def pause_after(failures: int, uniform: float) -> timedelta:
    """Doubling up to a bound; half of it by chance, so that those who failed together don't return together."""
    doublings = min(failures - 1, (LONGEST_PAUSE // FIRST_PAUSE).bit_length())
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE) * (0.5 + uniform / 2)


def until(at: float, clock: Clock) -> timedelta:
    """The wait until the monotonic clock shows *at*; zero only if it does, lest somebody turns on the spot."""
    seconds = at - clock.monotonic()
    return max(timedelta(seconds=seconds), timedelta.resolution) if seconds > 0 else timedelta(0)
