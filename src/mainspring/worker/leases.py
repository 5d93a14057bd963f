"""A lock held for as long as a block runs: taken, renewed while it is held, given up at the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from mainspring.errors import Conflict, StoreError
from mainspring.ports.locks import HeldBy, Leases, Lock
from mainspring.ports.time import Clock

LOOK_AGAIN = timedelta(seconds=1)
_RENEWALS_PER_TTL = 3
_MOMENT = timedelta(milliseconds=20)


class LockBusy(Conflict):
    """Somebody else held the lock for as long as the caller was willing to wait."""


class LockLost(Conflict):
    """The lock couldn't be renewed in time: somebody else may hold it by now, so the block was stopped."""


@asynccontextmanager
async def lease(
    locks: Leases, clock: Clock, name: str, holder: str, *, ttl: timedelta, wait: timedelta | None
) -> AsyncIterator[Lock]:
    """Hold the lock *name* while the block runs; LockBusy after *wait* (None: never), LockLost if it slips away."""
    asked_at, lock = await _acquire(locks, clock, name, holder, ttl=ttl, wait=wait)
    block = asyncio.current_task()
    assert block is not None  # noqa: S101 - a coroutine that runs has a task
    before = block.cancelling()
    lost = False

    async def keep() -> None:
        nonlocal lost
        await _renew_until_lost(locks, clock, lock, ttl=ttl, valid_until=asked_at + ttl.total_seconds())
        lost = True
        block.cancel()

    keeper = asyncio.get_running_loop().create_task(keep())
    try:
        yield lock
    except asyncio.CancelledError:
        # Ours unless somebody else asked as well: then theirs counts.
        if lost and block.uncancel() <= before:
            raise LockLost(f"the lock {name!r} was lost while it was held") from None
        raise
    finally:
        keeper.cancel()
        if not lost:
            # A release that fails costs others the rest of the ttl, nothing more.
            with suppress(StoreError):
                await locks.release(lock)


async def _acquire(
    locks: Leases, clock: Clock, name: str, holder: str, *, ttl: timedelta, wait: timedelta | None
) -> tuple[float, Lock]:
    give_up_at = None if wait is None else clock.monotonic() + wait.total_seconds()
    while True:
        # The lease counts from before the question: the store may have answered late.
        asked_at = clock.monotonic()
        answer = await locks.acquire(name, holder, ttl)
        if not isinstance(answer, HeldBy):
            return asked_at, answer
        left = None if give_up_at is None else timedelta(seconds=give_up_at - clock.monotonic())
        if left is not None and left <= timedelta(0):
            raise LockBusy(f"the lock {name!r} is held by {answer.holder}")
        pause = max(min(answer.remaining, LOOK_AGAIN), _MOMENT)
        await clock.sleep(pause if left is None else min(pause, left))


async def _renew_until_lost(locks: Leases, clock: Clock, lock: Lock, *, ttl: timedelta, valid_until: float) -> None:
    while True:
        await clock.sleep(ttl / _RENEWALS_PER_TTL)
        asked_at = clock.monotonic()
        try:
            renewed = await locks.renew(lock, ttl)
        except StoreError:
            # Unknown: the lock is good until its time is up, whoever answers or not.
            if clock.monotonic() >= valid_until:
                return
            continue
        if renewed is None:
            return
        valid_until = asked_at + ttl.total_seconds()
