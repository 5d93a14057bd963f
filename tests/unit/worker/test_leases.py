import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.ids import DEFAULT_OWNER
from mainspring.errors import StoreUnavailable
from mainspring.worker.context import Context, Toolbox
from mainspring.worker.leases import LockBusy, LockLost
from tests.unit.worker.fakes import FakeLocks
from tests.unit.worker.harness import an_attempt
from tests.unit.worker.leaps import LoopClock, leaping

TTL = timedelta(seconds=30)


def a_context_with_locks() -> tuple[Context, FakeLocks]:
    clock = LoopClock()
    locks = FakeLocks(clock)
    return Context(an_attempt(owner=DEFAULT_OWNER), tools=Toolbox(locks=locks, clock=clock)), locks


@leaping
async def test_a_lock_is_held_during_the_block_and_released_after_it() -> None:
    context, locks = a_context_with_locks()
    async with context.lock("printer") as lock:
        assert locks.held is lock
        assert (lock.name, lock.holder) == ("printer", f"run/{context.run_id}/1")
    assert locks.held is None


@leaping
async def test_owners_cannot_take_each_others_locks() -> None:
    clock = LoopClock()
    locks = FakeLocks(clock)
    context = Context(an_attempt(owner="ada"), tools=Toolbox(locks=locks, clock=clock))
    async with context.lock("printer") as lock:
        assert lock.name == "ada\x1fprinter"


@leaping
async def test_a_lock_is_renewed_for_as_long_as_the_block_runs() -> None:
    context, locks = a_context_with_locks()
    async with context.lock("printer", ttl=TTL) as lock:
        await asyncio.sleep(300)
        assert locks.held is not None
        assert locks.held.fence == lock.fence
        assert locks.renewals >= 29


@leaping
async def test_a_busy_lock_is_waited_for() -> None:
    context, locks = a_context_with_locks()
    await locks.acquire("printer", "somebody", timedelta(seconds=5))
    async with context.lock("printer"):
        assert 5 <= LoopClock().monotonic() <= 5.1


@leaping
async def test_a_lock_that_stays_busy_is_given_up() -> None:
    context, locks = a_context_with_locks()
    await locks.acquire("printer", "somebody", timedelta(hours=1))
    with pytest.raises(LockBusy, match="held by somebody"):
        async with context.lock("printer", wait=timedelta(seconds=3)):
            pass
    assert 3 <= LoopClock().monotonic() <= 3.1


@leaping
async def test_losing_the_lock_stops_the_block() -> None:
    context, locks = a_context_with_locks()

    async def hold_until_lost() -> None:
        async with context.lock("printer", ttl=TTL):
            locks.held = None
            await asyncio.Event().wait()

    with pytest.raises(LockLost, match="'printer' was lost"):
        await hold_until_lost()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@leaping
async def test_a_store_that_is_away_for_less_than_the_lease_costs_nothing() -> None:
    context, locks = a_context_with_locks()
    locks.renewal_faults = [StoreUnavailable("down")] * 2
    async with context.lock("printer", ttl=TTL):
        await asyncio.sleep(60)
    assert locks.held is None


@leaping
async def test_a_lock_that_could_not_be_renewed_in_time_counts_as_lost() -> None:
    context, locks = a_context_with_locks()
    locks.renewal_faults = [StoreUnavailable("down")] * 100
    with pytest.raises(LockLost):
        async with context.lock("printer", ttl=TTL):
            await asyncio.Event().wait()
    assert 30 <= LoopClock().monotonic() <= 30.1


@leaping
async def test_somebody_elses_cancellation_passes_through() -> None:
    context, locks = a_context_with_locks()
    entered = asyncio.Event()

    async def hold() -> None:
        async with context.lock("printer"):
            entered.set()
            await asyncio.Event().wait()

    holder = asyncio.ensure_future(hold())
    await entered.wait()
    holder.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holder
    assert locks.held is None
