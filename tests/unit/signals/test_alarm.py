import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from mainspring.adapters.alarm import Alarm, LoopAlarm, fine_alarm

Make = Callable[[asyncio.AbstractEventLoop], Alarm]


@pytest.fixture(params=[LoopAlarm, fine_alarm], ids=["loop", "fine"])
async def alarm(request: pytest.FixtureRequest) -> AsyncIterator[Alarm]:
    make: Make = request.param
    made = make(asyncio.get_running_loop())
    yield made
    made.close()


def waiter() -> "asyncio.Future[bool]":
    return asyncio.get_running_loop().create_future()


async def test_an_alarm_rings_with_false(alarm: Alarm) -> None:
    woken = waiter()
    alarm.set(woken, 0.001)
    assert await woken is False


@pytest.mark.parametrize("seconds", [0, -1.5])
async def test_a_moment_that_has_passed_rings_at_once(alarm: Alarm, seconds: float) -> None:
    woken = waiter()
    alarm.set(woken, seconds)
    assert await woken is False


async def test_whoever_was_answered_before_is_left_alone(alarm: Alarm) -> None:
    first, second = waiter(), waiter()
    first.set_result(True)
    alarm.set(first, 0)
    assert await first is True
    alarm.clear()
    alarm.set(second, 0.001)
    assert await second is False


async def test_a_cleared_alarm_wakes_nobody_and_may_be_set_again(alarm: Alarm) -> None:
    forgotten, awaited = waiter(), waiter()
    alarm.set(forgotten, 0)
    alarm.clear()
    alarm.set(awaited, 0.002)
    assert await awaited is False
    assert not forgotten.done()


async def test_an_alarm_that_went_off_before_it_was_wound_up_anew_wakes_the_later_waiter_in_time(alarm: Alarm) -> None:
    forgotten, awaited = waiter(), waiter()
    alarm.set(forgotten, 0)
    time.sleep(0.002)  # noqa: ASYNC251 - the loop mustn't see it ring
    alarm.clear()
    alarm.set(awaited, 3600)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not awaited.done()
    assert not forgotten.done()


async def test_the_fine_alarm_is_never_early() -> None:
    alarm = fine_alarm(asyncio.get_running_loop())
    for step in range(20):
        seconds = 0.0003 * step
        woken = waiter()
        before = time.monotonic()
        alarm.set(woken, seconds)
        await woken
        assert time.monotonic() - before >= seconds
    alarm.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems lend nothing")
async def test_what_was_lent_is_given_back_once() -> None:
    before = timers()
    alarm = fine_alarm(asyncio.get_running_loop())
    assert timers() == before + 1
    alarm.close()
    alarm.close()
    assert timers() == before


def timers() -> int:
    """How many timers of the kernel this process has."""
    return sum("timerfd" in str(descriptor.readlink()) for descriptor in descriptors())


def descriptors() -> Iterator[Path]:
    """Those that are still open when they are looked at: the folder's own is among them."""
    return (each for each in Path("/proc/self/fd").iterdir() if each.is_symlink())


@pytest.mark.parametrize("refusal", [OSError("too many"), NotImplementedError()])
async def test_a_system_without_fine_timers_uses_those_of_the_loop(
    monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    loop = asyncio.get_running_loop()

    def refuse(*_: object) -> None:
        raise refusal

    monkeypatch.setattr(loop, "add_reader", refuse)
    alarm = fine_alarm(loop)
    assert isinstance(alarm, LoopAlarm)
    woken = waiter()
    alarm.set(woken, 0)
    assert await woken is False
