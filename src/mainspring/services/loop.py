"""Repeating a step until told to stop: waits that a stop cuts short, and patience with a store that says no."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any

import structlog

from mainspring.errors import StoreError
from mainspring.ports.time import Clock, Random

FIRST_PAUSE = timedelta(milliseconds=100)
LONGEST_PAUSE = timedelta(seconds=5)

Step = Callable[[], Awaitable[timedelta]]
"""Does a bounded piece of work and returns the wait until the next."""
Wait = Callable[[timedelta], Coroutine[Any, Any, object]]
"""Returns after that long, or earlier if there is reason to."""

_log = structlog.get_logger()


async def repeat(step: Step, stop: asyncio.Event, *, service: str, clock: Clock, random: Random, wait: Wait) -> None:
    """Repeat *step* until *stop* is set, a running step being finished first.

    A store that says no is asked again, after a pause that grows; any other error is a fault and ends the loop.
    """
    failures = 0
    while not stop.is_set():
        try:
            pause = await step()
        except StoreError as error:
            failures += 1
            pause = pause_after(failures, random.uniform())
            _log.warning("service.failed", service=service, error=repr(error), retry_in=pause.total_seconds())
            await unless(stop, clock.sleep(pause))
        else:
            failures = 0
            await unless(stop, wait(pause))


def pause_after(failures: int, uniform: float) -> timedelta:
    """Doubling up to a bound; half of it by chance, so that those who failed together don't return together."""
    doublings = min(failures - 1, (LONGEST_PAUSE // FIRST_PAUSE).bit_length())
    return min(FIRST_PAUSE * (1 << doublings), LONGEST_PAUSE) * (0.5 + uniform / 2)


def until(at: float, clock: Clock) -> timedelta:
    """The wait until the monotonic clock shows *at*; zero only if it does, lest somebody turns on the spot."""
    seconds = at - clock.monotonic()
    return max(timedelta(seconds=seconds), timedelta.resolution) if seconds > 0 else timedelta(0)


async def unless(stop: asyncio.Event, waiting: Coroutine[Any, Any, object]) -> None:
    """Wait, but give up as soon as *stop* is set."""
    waiter = asyncio.create_task(waiting)
    watcher = asyncio.create_task(stop.wait())
    watcher.add_done_callback(lambda _: waiter.cancel())
    try:
        # Through `gather` a cancelled waiter is a result like any other, while our own cancellation still arrives.
        (outcome,) = await asyncio.gather(waiter, return_exceptions=True)
    finally:
        watcher.cancel()
    if isinstance(outcome, Exception):
        raise outcome
