import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.children import ChildFailed
from mainspring.adapters.system.clock import SystemClock
from mainspring.adapters.system.tasks import SystemTasks


@pytest.fixture
async def tasks() -> AsyncIterator[SystemTasks]:
    made = SystemTasks(2)
    yield made
    made.close()


async def test_a_sleep_is_never_too_short() -> None:
    clock = SystemClock()
    for _ in range(20):
        before = clock.monotonic()
        await clock.sleep(timedelta(milliseconds=1))
        assert clock.monotonic() - before >= 0.001
    assert clock.now().tzinfo is UTC


@pytest.mark.parametrize("count", [62, 64, 74])
def test_bits_are_as_many_as_asked_for_and_differ(count: int) -> None:
    random = SystemRandom()
    values = [random.bits(count) for _ in range(2000)]
    assert len(set(values)) == 2000
    assert max(values).bit_length() == count
    assert {random.bits(1) for _ in range(100)} == {0, 1}
    assert random.bits(100_000).bit_length() > 99_000


def test_no_two_threads_draw_the_same_bits() -> None:
    random = SystemRandom()
    with ThreadPoolExecutor(4) as pool:
        drawn = pool.map(lambda _: [random.bits(62) for _ in range(2000)], range(4))
    values = [value for each in drawn for value in each]
    assert len(set(values)) == len(values)


def test_uniform_numbers_fill_the_unit_interval() -> None:
    random = SystemRandom()
    values = [random.uniform() for _ in range(2000)]
    assert all(0 <= value < 1 for value in values)
    assert min(values) < 0.05
    assert max(values) > 0.95


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # which is what this is about
def test_a_forked_child_draws_its_own_bits() -> None:
    random = SystemRandom()
    random.bits(8)
    theirs, ours = os.pipe()
    child = os.fork()
    if not child:
        os.write(ours, random.bits(64).to_bytes(8, "big"))
        os._exit(0)
    os.waitpid(child, 0)
    drawn = os.read(theirs, 8)
    os.close(ours)
    os.close(theirs)
    assert int.from_bytes(drawn, "big") != random.bits(64)


async def test_threads_return_and_raise(tasks: SystemTasks) -> None:
    assert await tasks.in_thread(lambda: threading.current_thread().name) == "handler-1"
    with pytest.raises(SystemExit):
        await tasks.in_thread(lambda: exec("raise SystemExit"))  # noqa: S102
    with pytest.raises(RuntimeError, match="StopIteration"):
        await tasks.in_thread(lambda: next(iter(())))


async def test_no_more_threads_are_made_than_allowed(tasks: SystemTasks) -> None:
    names = await asyncio.gather(*[tasks.in_thread(lambda: threading.current_thread().name) for _ in range(50)])
    assert set(names) <= {"handler-1", "handler-2"}


async def test_an_idle_thread_is_used_again(tasks: SystemTasks) -> None:
    for _ in range(20):
        assert await tasks.in_thread(lambda: threading.current_thread().name) == "handler-1"


async def test_cancelling_the_wait_leaves_the_thread_to_its_work(tasks: SystemTasks) -> None:
    release, ended = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(30)
        ended.set()

    waiting = asyncio.ensure_future(tasks.in_thread(work))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    assert await tasks.in_thread(lambda: ended.wait(30))


def echo(**arguments: Any) -> Any:
    return {"pid": os.getpid(), **arguments}


def fail() -> None:
    raise ValueError("broken \ud800")


def leave() -> None:
    os._exit(7)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def unspeakable() -> object:
    return object()


def hang_with_a_child(pipe: str) -> None:
    """Says on *pipe* that it hangs; whoever reads there sees the end once neither process has it open."""
    told = os.open(pipe, os.O_WRONLY)
    if os.fork():
        os.write(told, b"hanging")
    time.sleep(600)


async def test_a_child_is_another_process_that_gets_and_gives_json(tasks: SystemTasks) -> None:
    answer = await tasks.in_process(echo, {"text": "ä", "numbers": [1, 2.5, None]})
    assert answer.pop("pid") != os.getpid()
    assert answer == {"text": "ä", "numbers": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (fail, r"ValueError: broken \\ud800"),
        (leave, "exited with 7"),
        (kill_itself, "killed by signal 9"),
        (unspeakable, "TypeError"),
    ],
)
async def test_a_child_that_fails_or_dies_says_how(tasks: SystemTasks, function: Any, message: str) -> None:
    with pytest.raises(ChildFailed, match=message):
        await tasks.in_process(function, {})


async def test_a_cancelled_child_is_killed_with_all_that_it_started(tasks: SystemTasks, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    waiting = asyncio.ensure_future(tasks.in_process(hang_with_a_child, {"pipe": str(tmp_path / "pipe")}))
    reader = await tasks.in_thread(lambda: os.open(tmp_path / "pipe", os.O_RDONLY))
    assert await tasks.in_thread(lambda: os.read(reader, 100)) == b"hanging"
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await tasks.in_thread(lambda: os.read(reader, 100)) == b""
    os.close(reader)


async def test_a_child_that_was_cancelled_before_it_began_never_does(tasks: SystemTasks, tmp_path: Path) -> None:
    blockers = [asyncio.ensure_future(tasks.in_process(echo, {})) for _ in range(2)]
    waiting = asyncio.ensure_future(tasks.in_process(leave_a_mark, {"path": str(tmp_path / "mark")}))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(*blockers, waiting, return_exceptions=True)
    await tasks.in_process(echo, {})
    assert not (tmp_path / "mark").exists()


def leave_a_mark(path: str) -> None:
    Path(path).touch()


async def test_an_aside_goes_on_while_the_main_loop_is_blocked(tasks: SystemTasks) -> None:
    ticks = threading.Semaphore(0)

    async def tick() -> None:
        while True:
            await asyncio.sleep(0)
            ticks.release()

    aside = tasks.aside(tick)
    for _ in range(10):
        assert ticks.acquire(timeout=30)
    await aside.stop()
    await aside.stop()


async def test_an_aside_that_fails_says_so_when_it_is_stopped(tasks: SystemTasks) -> None:
    async def fail_at_once() -> None:
        raise ValueError("broken")

    aside = tasks.aside(fail_at_once)
    with pytest.raises(ValueError, match="broken"):
        await aside.stop()
