import asyncio
from datetime import timedelta

import pytest

from mainspring.services.interruption import Interruption
from tests.unit.services.fakes import seconds


class Waiting:
    """Waits for ever, unless it is told otherwise."""

    def __init__(self) -> None:
        self.begun, self.over = asyncio.Event(), asyncio.Event()

    async def __call__(self, _: timedelta) -> None:
        self.begun.set()
        await self.over.wait()


async def interruptible(stop: asyncio.Event, wait: Waiting) -> int:
    """How many requests to cancel the task are left once it has waited."""
    task = asyncio.current_task()
    assert task is not None
    async with Interruption(stop) as interruption:
        await interruption.wait(wait, seconds(1))
    return task.cancelling()


async def begun(stop: asyncio.Event, wait: Waiting) -> "asyncio.Task[int]":
    task = asyncio.create_task(interruptible(stop, wait))
    await wait.begun.wait()
    return task


async def turns(count: int) -> None:
    """Let everybody else take so many steps."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_stop_cuts_a_wait_short_and_leaves_no_cancellation_behind() -> None:
    stop = asyncio.Event()
    task = await begun(stop, Waiting())
    stop.set()
    assert await task == 0


async def test_a_wait_ends_by_itself() -> None:
    wait = Waiting()
    task = await begun(asyncio.Event(), wait)
    wait.over.set()
    assert await task == 0


async def test_nothing_is_waited_for_once_stopped() -> None:
    stop, wait = asyncio.Event(), Waiting()
    stop.set()
    assert await interruptible(stop, wait) == 0
    assert not wait.begun.is_set()


async def test_a_stop_between_two_waits_interrupts_nothing() -> None:
    stop, wait = asyncio.Event(), Waiting()
    wait.over.set()
    async with Interruption(stop) as interruption:
        await interruption.wait(wait, seconds(1))
        stop.set()
        await turns(3)


async def test_cancelling_a_wait_cancels_what_it_waits_for_and_who_waits() -> None:
    task = await begun(asyncio.Event(), Waiting())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [each for each in asyncio.all_tasks() if each is not asyncio.current_task() and not each.cancelling()] == []


@pytest.mark.parametrize("later", [0, 1, 2])
async def test_who_is_stopped_and_cancelled_at_once_is_cancelled(later: int) -> None:
    stop = asyncio.Event()
    task = await begun(stop, Waiting())
    stop.set()
    await turns(later)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_wait_that_does_not_let_itself_be_cut_short_leaves_no_cancellation_behind() -> None:
    stop = asyncio.Event()

    class Stubborn(Waiting):
        async def __call__(self, pause: timedelta) -> None:
            with pytest.raises(asyncio.CancelledError):
                await super().__call__(pause)

    task = await begun(stop, Stubborn())
    stop.set()
    assert await task == 0


async def test_a_wait_that_fails_is_no_secret() -> None:
    async def failing(_: timedelta) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with Interruption(asyncio.Event()) as interruption:
            await interruption.wait(failing, seconds(1))
