"""What a process lacks when something is to begin on its own behalf is never the fault of what was to begin."""

import errno
import os
import resource
import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mainspring.adapters.system.tasks import SystemTasks
from mainspring.errors import Exhausted, exhaustion
from mainspring.worker.flow import Fail
from mainspring.worker.handlers.shell import LONGEST_ARGUMENT
from tests.descriptors import no_descriptor_left
from tests.scenarios.handlers.programs import a_shell, names_in
from tests.scenarios.handlers.receiver import calling, receiving
from tests.unit.handlers.contexts import a_context

LONG = "#" * (LONGEST_ARGUMENT + 1)


@pytest.mark.parametrize("script", ["true", LONG], ids=["short", "from a file"])
async def test_a_program_that_no_descriptor_is_left_for_has_not_begun(script: str) -> None:
    with a_shell() as shell:
        await shell.script("true", a_context())
        before = len(names_in(Path("/proc/self/fd")))
        with no_descriptor_left(), pytest.raises(Exhausted, match="short of file descriptors"):
            await shell.script(script, a_context())
        assert len(names_in(Path("/proc/self/fd"))) == before
        assert await shell.script(script, a_context()) == {"exit_code": 0}


async def test_a_script_that_no_disk_has_room_for_has_not_begun() -> None:
    """A bound on the size of files stands for a full disk; its refusal has a number of its own."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with a_shell() as shell:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                await shell.script(LONG, a_context())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert exhaustion(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) is not None


async def test_a_call_that_no_descriptor_is_left_for_was_not_made() -> None:
    async with receiving() as receiver, calling() as webhook:
        await webhook({"url": receiver.url}, a_context())
        with no_descriptor_left(), pytest.raises(Exhausted, match="short of file descriptors"):
            await webhook({"url": receiver.url}, a_context())
        assert len(receiver.requests) == 1
        await webhook({"url": receiver.url}, a_context())


async def test_a_name_that_could_not_be_looked_up_for_want_of_descriptors_is_no_failure_of_the_call() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        """As the system does, which doesn't say why it failed."""
        assert (host, port) == ("example.invalid", 80)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async with calling(resolve=resolve) as webhook:
        with no_descriptor_left(), pytest.raises(Exhausted, match="short of file descriptors"):
            await webhook({"url": "http://example.invalid/"}, a_context())
        with pytest.raises(Fail, match="can't resolve"):
            await webhook({"url": "http://example.invalid/"}, a_context())


def answer() -> str:
    return "an answer"


async def test_a_child_that_no_descriptor_is_left_for_has_not_begun() -> None:
    tasks = SystemTasks(2)
    try:
        assert await tasks.in_process(answer, {}) == "an answer"
        with no_descriptor_left(), pytest.raises(Exhausted, match="short of file descriptors"):
            await tasks.in_process(answer, {})
        assert await tasks.in_process(answer, {}) == "an answer"
    finally:
        tasks.close()


async def test_a_thread_that_the_system_refuses_leaves_its_place_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is Python's own; a bound on threads doesn't hold for every user that runs tests."""

    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    tasks = SystemTasks(1)
    try:
        with monkeypatch.context() as patching:
            patching.setattr(threading.Thread, "start", refuse)
            with pytest.raises(Exhausted, match="short of processes or threads"):
                await tasks.in_thread(answer)
        assert await tasks.in_thread(answer) == "an answer"
    finally:
        tasks.close()


@pytest.mark.parametrize("error", [ValueError("x"), OSError(errno.ECONNREFUSED, "refused"), RuntimeError("other")])
def test_other_errors_are_no_lack(error: Exception) -> None:
    assert exhaustion(error) is None
