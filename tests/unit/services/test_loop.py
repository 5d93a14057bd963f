import asyncio
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from mainspring.errors import StoreUnavailable
from mainspring.services.loop import FIRST_PAUSE, LONGEST_PAUSE, pause_after, repeat, until
from tests.unit.services.fakes import FakeClock, FakeRandom, seconds


class Steps:
    """A step that follows a script and stops the loop at its end."""

    def __init__(self, stop: asyncio.Event, *answers: timedelta | Exception) -> None:
        self.stop = stop
        self.answers = list(answers)

    async def __call__(self) -> timedelta:
        answer = self.answers.pop(0)
        if not self.answers:
            self.stop.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


async def repeated(clock: FakeClock, *answers: timedelta | Exception) -> Steps:
    stop = asyncio.Event()
    steps = Steps(stop, *answers)
    await repeat(steps, stop, service="test", clock=clock, random=FakeRandom(), wait=clock.sleep)
    return steps


async def test_a_step_is_repeated_after_the_wait_that_it_asked_for() -> None:
    clock = FakeClock()
    steps = await repeated(clock, seconds(1), seconds(2), seconds(0))
    assert steps.answers == []
    assert clock.slept == [seconds(1), seconds(2)]


async def test_nothing_is_done_once_stopped() -> None:
    stop = asyncio.Event()
    stop.set()
    steps = Steps(stop, seconds(1))
    await repeat(steps, stop, service="test", clock=FakeClock(), random=FakeRandom(), wait=FakeClock().sleep)
    assert steps.answers == [seconds(1)]


async def test_a_store_that_says_no_is_asked_again_ever_more_slowly() -> None:
    clock = FakeClock()
    no = StoreUnavailable("busy")
    with capture_logs() as logs:
        await repeated(clock, no, no, seconds(9), no, seconds(0))
    pauses = [pause_after(1, 0.5), pause_after(2, 0.5), seconds(9), pause_after(1, 0.5)]
    assert clock.slept == pauses
    assert [entry["retry_in"] for entry in logs if entry["event"] == "service.failed"] == [
        pauses[0].total_seconds(),
        pauses[1].total_seconds(),
        pauses[3].total_seconds(),
    ]


async def test_any_other_error_ends_the_loop() -> None:
    with pytest.raises(ZeroDivisionError):
        await repeated(FakeClock(), ZeroDivisionError(), seconds(1))


def test_pauses_double_up_to_a_bound_and_vary_by_half() -> None:
    assert [pause_after(failures, 0) for failures in (1, 2, 3)] == [
        FIRST_PAUSE / 2,
        FIRST_PAUSE,
        FIRST_PAUSE * 2,
    ]
    assert pause_after(10**9, 0) == LONGEST_PAUSE / 2
    assert pause_after(10**9, 0.999) < LONGEST_PAUSE


def test_a_wait_is_zero_only_if_its_time_has_come() -> None:
    clock = FakeClock()
    clock.elapsed = seconds(0.3)
    assert until(0.1 + 0.2, clock) == timedelta(microseconds=1)
    assert until(0.3, clock) == until(0.2, clock) == timedelta(0)
    assert until(2.3, clock) == seconds(2)
