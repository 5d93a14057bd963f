"""One program with all its descendants: started in a session of its own, watched, and ended as a whole."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from mainspring import descriptors
from mainspring.worker.handlers.guardian import Guardian

_CHUNK = 64 * 1024
_KEPT_OF_TAIL = 2000
_SECONDS_TO_DIE = 5.0
_SECONDS_TO_DRAIN = 0.5
_CHUNKS_OF_REST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start. Nothing is inherited but what stands here: no descriptors, no environment."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str | None = None
    descriptors: Sequence[int] = ()


class Group:
    """A running program and its process group. `end` it in every case: nobody of the group survives that.

    Its output is read all the time and handed on piece by piece. A descendant that made a session of its own isn't in
    the group any more and can't be found; it can hold the output open, which is why that is never waited for long.
    """

    def __init__(self, program: Program, guardian: Guardian, output: Callable[[bytes], None]) -> None:
        """Start the program from the running loop; OSError or RuntimeError if that fails, and nothing of it is left."""
        self._loop = asyncio.get_running_loop()
        self._guardian = guardian
        self._output = output
        self._tail = bytearray()
        self._drained = asyncio.Event()
        self._exited = asyncio.Event()
        self._reader, writer = os.pipe()
        try:
            self._process = _start(program, writer)
        except BaseException:
            os.close(self._reader)
            raise
        finally:
            os.close(writer)
        self._pidfd = _open_pidfd(self._process.pid)
        try:
            self._watch()
        except BaseException:
            self.signal(signal.SIGKILL)
            self._process.wait()
            self._release()
            raise

    @property
    def tail(self) -> str:
        """The last of the output, some hundred characters at least."""
        return self._tail.decode(errors="replace")

    async def wait(self) -> None:
        """Return when the program itself has ended, whatever its descendants do."""
        await self._exited.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def end(self) -> int:
        """Kill what is left of the group, take what it has written, and return the exit status (negative: a signal)."""
        self.signal(signal.SIGKILL)
        try:
            await _no_longer_than(_SECONDS_TO_DIE, self._exited)
            await _no_longer_than(_SECONDS_TO_DRAIN, self._drained)
        finally:
            self._release()
        return -signal.SIGKILL if self._process.returncode is None else self._process.returncode

    def _watch(self) -> None:
        os.set_blocking(self._reader, False)
        self._loop.add_reader(self._reader, self._read)
        if self._pidfd is not None:
            self._loop.add_reader(self._pidfd, self._note_exit, self._pidfd)
        else:
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
        self._guardian.watch(self._process.pid)

    def _release(self) -> None:
        self._guardian.forget(self._process.pid)
        # Reaped now and not when it exited: as long as it is a zombie, nobody else gets the group's number.
        self._process.poll()
        self._take_rest()
        for descriptor in (self._reader, self._pidfd):
            if descriptor is not None:
                self._loop.remove_reader(descriptor)
                os.close(descriptor)

    def _note_exit(self, pidfd: int) -> None:
        self._loop.remove_reader(pidfd)
        self._exited.set()

    def _wait_in_thread(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._exited.set)

    def _take_rest(self) -> None:
        for _ in range(_CHUNKS_OF_REST):
            if self._drained.is_set() or not self._read():
                return

    def _read(self) -> bool:
        """Take one piece of the output; False if there was none."""
        try:
            data = os.read(self._reader, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._reader)
            self._drained.set()
            return False
        self._output(data)
        self._tail += data[-_KEPT_OF_TAIL:]
        del self._tail[:-_KEPT_OF_TAIL]
        return True


def _start(program: Program, output: int) -> "subprocess.Popen[bytes]":
    return descriptors.start(
        lambda: subprocess.Popen(  # noqa: S603 - running what the user asks for is the purpose, and policy allowed it
            program.arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=program.folder,
            env=program.environment,
            pass_fds=program.descriptors,
            start_new_session=True,
        )
    )


def _open_pidfd(process: int) -> int | None:
    """A descriptor that tells of the exit without reaping; None where the system has no such thing, or no more."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


async def _no_longer_than(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
