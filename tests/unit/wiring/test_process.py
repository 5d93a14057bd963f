import asyncio
import os
import signal

import pytest
import structlog

from mainspring.wiring import process as process_module
from mainspring.wiring.loops import run_loop
from mainspring.wiring.process import Process, Role


def waiting(name: str = "waiting") -> Role:
    async def run(stop: asyncio.Event, hurry: asyncio.Event) -> None:
        await stop.wait()
        del hurry

    return Role(name=name, run=run)


def draining(began: asyncio.Event) -> Role:
    """Ends only when it is told to hurry."""

    async def run(stop: asyncio.Event, hurry: asyncio.Event) -> None:
        await stop.wait()
        began.set()
        await hurry.wait()

    return Role(name="draining", run=run)


def failing(error: Exception | None) -> Role:
    async def run(stop: asyncio.Event, hurry: asyncio.Event) -> None:
        del stop, hurry
        if error is not None:
            raise error

    return Role(name="failing", run=run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_every_role_in_order(number: int) -> None:
    process = Process()
    running = asyncio.create_task(process.run([waiting("first"), waiting("second")]))
    await asyncio.sleep(0)
    os.kill(os.getpid(), number)
    assert await running == 0


@pytest.mark.parametrize("error", [ZeroDivisionError("broken"), None], ids=["raises", "ends by itself"])
async def test_a_role_that_fails_ends_the_others_and_the_process_says_so(error: Exception | None) -> None:
    assert await Process().run([waiting(), failing(error)]) == 1


async def test_a_second_signal_makes_roles_hurry() -> None:
    process, began = Process(), asyncio.Event()
    running = asyncio.create_task(process.run([draining(began), waiting()]))
    await asyncio.sleep(0)
    process.signalled(signal.SIGTERM)
    await began.wait()
    assert not running.done()
    process.signalled(signal.SIGINT)
    assert await running == 128 + signal.SIGINT


@pytest.mark.parametrize(
    ("number", "waits", "text"),
    [
        (
            signal.SIGINT,
            ["up to 30 s for 3 executions"],
            "waiting up to 30 s for 3 executions; Ctrl-C again ends it now",
        ),
        (signal.SIGTERM, ["up to 30 s for 3 executions"], "a second signal ends it now"),
        (signal.SIGINT, [None], "nothing is executing"),
        (signal.SIGINT, [], "nothing is executing"),
    ],
)
async def test_the_first_signal_says_what_is_waited_for(number: int, waits: list[str | None], text: str) -> None:
    process = Process()
    process.waits = [lambda wait=wait: wait for wait in waits]  # type: ignore[misc]
    with structlog.testing.capture_logs() as lines:
        process.signalled(number)
    [line] = lines
    assert (line["event"], line["signal"]) == ("process.stopping", signal.Signals(number).name)
    assert text in line["text"]


async def test_a_role_that_does_not_hurry_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "HURRY", 0)

    async def stuck(stop: asyncio.Event, hurry: asyncio.Event) -> None:
        del stop, hurry
        await asyncio.Event().wait()

    process = Process()
    running = asyncio.create_task(process.run([Role(name="stuck", run=stuck)]))
    await asyncio.sleep(0)
    process.signalled(signal.SIGTERM)
    process.signalled(signal.SIGTERM)
    assert await running == 128 + signal.SIGTERM


async def test_a_third_signal_takes_the_process_away(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    process = Process()
    for _ in range(3):
        process.signalled(signal.SIGTERM)
    assert codes == [128 + signal.SIGTERM]


def test_the_fastest_loop_is_used() -> None:
    async def main() -> str:
        return type(asyncio.get_running_loop()).__module__

    assert run_loop(main()) == "uvloop"
