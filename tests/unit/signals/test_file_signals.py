import asyncio
import socket
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import uvloop

from mainspring.adapters.files.household import Household
from mainspring.adapters.files.signals import FileSignals
from mainspring.errors import ConfigurationError

LONG = timedelta(seconds=30)
NOW = timedelta(0)

ECHO = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from mainspring.adapters.files.signals import FileSignals

async def main():
    signals = await FileSignals.open(Path(sys.argv[1]))
    print("listening", flush=True)
    heard = await signals.wait(["question"], timedelta(seconds=30))
    await signals.notify(["answer" if heard else "silence"])
    if "linger" in sys.argv:
        await asyncio.Event().wait()
    await signals.close()

asyncio.run(main())
"""


@asynccontextmanager
async def opened(folder: Path, household: Household | None = None) -> AsyncIterator[FileSignals]:
    signals = await FileSignals.open(folder, household=household)
    try:
        yield signals
    finally:
        await signals.close()


@asynccontextmanager
async def another_process(folder: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ECHO, str(folder), *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"listening\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def sockets(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".sock")


async def test_two_processes_wake_each_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as signals, another_process(tmp_path) as process:
        await signals.notify(["question"])
        assert await signals.wait(["answer", "silence"], LONG) is True
        assert await process.wait() == 0
        assert await signals.wait(["answer"], NOW) is False


async def test_subscribers_of_one_process_wake_each_other_and_themselves(tmp_path: Path) -> None:
    async with opened(tmp_path) as first, opened(tmp_path) as second:
        await first.notify(["a"])
        assert await second.wait(["a"], LONG) is True
        assert await first.wait(["a"], LONG) is True


async def test_a_household_needs_no_socket_within_a_loop_and_one_between_loops(tmp_path: Path) -> None:
    household = Household()
    async with opened(tmp_path, household) as one, opened(tmp_path, household) as other:
        await one.notify(["here"])
        assert [await each.wait(["here"], NOW) for each in (one, other)] == [True, True]

        await asyncio.to_thread(asyncio.run, one.notify(["there"]))
        assert [await each.wait(["there"], LONG) for each in (one, other)] == [True, True]


async def test_who_has_left_the_household_is_told_nothing(tmp_path: Path) -> None:
    household = Household()
    async with opened(tmp_path, household) as one:
        async with opened(tmp_path, household):
            pass
        assert list(household.deliver(["a"])) == sockets(tmp_path)
        assert await one.wait(["a"], NOW) is True


async def test_what_is_foretold_wakes_who_waits_and_is_remembered_by_who_is_about_to(tmp_path: Path) -> None:
    household = Household()
    async with opened(tmp_path, household) as signals:
        waiting = asyncio.create_task(signals.wait(["a"], LONG))
        await asyncio.sleep(0)
        assert household.foretell(["a"]) is True
        assert await waiting is True
        assert await signals.wait(["a"], NOW) is False, "it was heard once"

        assert household.foretell(["a"]) is False, "nobody waits"
        assert await signals.wait(["a"], NOW) is True


async def test_a_subscriber_that_came_later_is_found_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as first:
        await first.notify(["before"])
        async with opened(tmp_path) as second:
            await first.notify(["after"])
            assert await second.wait(["after"], LONG) is True


async def test_a_wait_that_nobody_signals_ends_in_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as signals:
        assert await signals.wait(["a"], timedelta(milliseconds=1)) is False


async def test_the_socket_of_a_killed_process_is_removed_by_the_next_signal(tmp_path: Path) -> None:
    async with opened(tmp_path) as signals:
        async with another_process(tmp_path, "linger") as process:
            assert len(sockets(tmp_path)) == 2
            process.kill()
            await process.wait()
        assert len(sockets(tmp_path)) == 2
        await signals.notify(["a"])
        assert sockets(tmp_path) == [signals._name]


async def test_a_folder_deeper_than_any_socket_address_works(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["deep" * 10] * 5)
    async with opened(folder) as signals, another_process(folder) as process:
        await signals.notify(["question"])
        assert await signals.wait(["answer"], LONG) is True
        assert await process.wait() == 0
    assert sockets(folder) == []


async def test_a_subscriber_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    async with opened(tmp_path) as signals:
        deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        deaf.bind(str(tmp_path / "deaf.sock"))
        with deaf:
            for _ in range(2000):
                await signals.notify(["a"])
            assert await signals.wait(["a"], LONG) is True
            assert (tmp_path / "deaf.sock").exists()


async def test_garbage_is_ignored(tmp_path: Path) -> None:
    async with opened(tmp_path) as signals:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(b"\xff\xfe", str(tmp_path / signals._name))
            stranger.sendto(b"", str(tmp_path / signals._name))
        await signals.notify(["a"])
        assert await signals.wait(["a"], LONG) is True


async def test_more_topics_than_a_datagram_holds_all_arrive(tmp_path: Path) -> None:
    topics = [f"{number:04d}" + "x" * 100 for number in range(200)]
    async with opened(tmp_path) as signals:
        await signals.notify([*topics, "y" * 10_000])
        assert all([await signals.wait([topic], LONG) for topic in topics])


async def test_who_only_sends_is_sent_nothing(tmp_path: Path) -> None:
    sender = await FileSignals.open(tmp_path, listening=False)
    async with opened(tmp_path) as signals:
        assert sockets(tmp_path) == [signals._name]
        await sender.notify(["a"])
        assert await signals.wait(["a"], LONG) is True
    await sender.close()


async def test_another_thread_may_notify(tmp_path: Path) -> None:
    async with opened(tmp_path) as signals:
        await asyncio.to_thread(asyncio.run, signals.notify(["a"]))
        assert await signals.wait(["a"], LONG) is True


async def test_nobody_else_may_look_into_the_folder(tmp_path: Path) -> None:
    async with opened(tmp_path / "signals"):
        assert stat.S_IMODE((tmp_path / "signals").stat().st_mode) == 0o700


async def test_closing_twice_changes_nothing_and_notifying_afterwards_does_not_fail(tmp_path: Path) -> None:
    signals = await FileSignals.open(tmp_path)
    await signals.close()
    await signals.close()
    async with opened(tmp_path):
        await signals.notify(["a"])
    assert sockets(tmp_path) == []


async def test_a_folder_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="MAINSPRING_DATA"):
        await FileSignals.open(tmp_path / "file" / "signals")


def test_it_works_on_uvloop(tmp_path: Path) -> None:
    async def main() -> bool:
        async with opened(tmp_path) as first, opened(tmp_path) as second:
            waiting = asyncio.create_task(second.wait(["a"], LONG))
            await asyncio.sleep(0)
            await first.notify(["a"])
            return await waiting

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) is True
