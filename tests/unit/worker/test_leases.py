import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.ids import DEFAULT_OWNER
from mainspring.errors import ConfigurationError, StoreUnavailable
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


class Guarding:
    """A context on a real loop, for whoever runs in a thread beside it."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.locks = FakeLocks(self.clock)
        tools = Toolbox(locks=self.locks, clock=self.clock, loop=asyncio.get_running_loop())
        self.context = Context(an_attempt(owner=DEFAULT_OWNER), tools=tools)


async def test_a_thread_holds_a_lock_during_its_block() -> None:
    guarding = Guarding()

    def handle() -> None:
        with guarding.context.lock("printer") as lock:
            assert guarding.locks.held is lock
            assert lock.holder == f"run/{guarding.context.run_id}/1"

    await asyncio.to_thread(handle)
    assert guarding.locks.held is None


async def test_the_lock_of_a_thread_is_renewed_and_given_back_whatever_its_block_raises() -> None:
    guarding = Guarding()

    def handle() -> None:
        with guarding.context.lock("printer", ttl=timedelta(milliseconds=60)):
            while guarding.locks.renewals < 2:
                guarding.context.cancelled.wait_blocking(timedelta(milliseconds=5))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(handle)
    assert guarding.locks.held is None


async def test_a_thread_that_loses_its_lock_is_asked_to_stop_and_told_why() -> None:
    guarding = Guarding()

    def handle() -> None:
        with guarding.context.lock("printer", ttl=timedelta(milliseconds=60)):
            guarding.locks.held = None
            assert guarding.context.cancelled.wait_blocking(TTL)

    with pytest.raises(LockLost, match="'printer' was lost"):
        await asyncio.to_thread(handle)


async def test_a_thread_gives_up_a_lock_that_stays_busy() -> None:
    guarding = Guarding()
    await guarding.locks.acquire("printer", "somebody", timedelta(hours=1))

    def handle() -> None:
        with guarding.context.lock("printer", wait=timedelta(0)):
            raise AssertionError("nobody gave it the lock")

    with pytest.raises(LockBusy, match="held by somebody"):
        await asyncio.to_thread(handle)


async def test_a_thread_that_waits_for_a_lock_ends_with_its_run() -> None:
    guarding = Guarding()
    await guarding.locks.acquire("printer", "somebody", timedelta(hours=1))

    loop = asyncio.get_running_loop()

    def handle() -> None:
        loop.call_soon_threadsafe(guarding.context.cancelled.set)
        with guarding.context.lock("printer"):
            raise AssertionError("nobody gave it the lock")

    with pytest.raises(LockBusy, match="was stopped"):
        await asyncio.to_thread(handle)


async def test_a_coroutine_is_told_not_to_block_its_loop() -> None:
    context = Guarding().context
    with pytest.raises(ConfigurationError, match="async with"), context.lock("printer"):
        pass


def test_an_isolated_handler_is_told_that_it_has_no_locks() -> None:
    with pytest.raises(ConfigurationError, match="isolated handlers"):
        Context(an_attempt()).lock("printer")
