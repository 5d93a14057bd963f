"""One process: its roles side by side, from the first signal to stop until the last of them has ended."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from mainspring.logs import get_logger

T = TypeVar("T")

HURRY = 5.0
"""Seconds that roles have to end once they were told to hurry; then they are cancelled."""
FAILED = 1
_KILLED_BY = 128

log = get_logger("mainspring.process")


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A part of the process: runs until *stop* is set, ends at once when *hurry* is, and never ends by itself."""

    name: str
    run: Callable[[asyncio.Event, asyncio.Event], Awaitable[None]]


class Process:
    """Runs roles until a signal comes or one of them fails; then all of them end, in their own time."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.hurry = asyncio.Event()
        self.waits: Sequence[Callable[[], str | None]] = ()
        """What each role would wait for if it were to stop now, in words; None for nothing."""
        self._failed = False
        self._signals: list[int] = []

    def signalled(self, number: int) -> None:
        """The first signal asks for an orderly end, the second for a quick one, a third takes it."""
        self._signals.append(number)
        match len(self._signals):
            case 1:
                log.info("process.stopping", signal=signal.Signals(number).name, text=self._prospect(number))
                self.stop.set()
            case 2:
                text = f"ending now, in {HURRY:g} s at most; a third time ends it at once, and hands nothing back"
                log.warning("process.hurrying", signal=signal.Signals(number).name, text=text)
                self.stop.set()
                self.hurry.set()
            case _:
                os._exit(_KILLED_BY + number)

    def _prospect(self, number: int) -> str:
        waits = [wait for each in self.waits if (wait := each()) is not None]
        again = "Ctrl-C again" if number == signal.SIGINT else "a second signal"
        return f"waiting {', '.join(waits)}; {again} ends it now" if waits else "nothing is executing"

    async def run(self, roles: Sequence[Role]) -> int:
        """Run *roles* to their end and return the exit code: 0 if nothing went wrong, 1 if a role failed."""
        with self.hearing():
            running = [asyncio.create_task(self._watch(role), name=role.name) for role in roles]
            hurrying = asyncio.create_task(self._hurry_up(running))
            try:
                await asyncio.gather(*running, return_exceptions=True)
            finally:
                hurrying.cancel()
        return self._exit_code()

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What *work* returns; None if the process is told to stop first, which cancels it."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self.stop.wait())
        stopping.add_done_callback(lambda _: working.cancel())
        try:
            return await working
        except asyncio.CancelledError:
            if not self.stop.is_set():
                raise
            return None
        finally:
            stopping.cancel()

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Hear signals until the block ends; then they do what they do to any program."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.signalled, number)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def _watch(self, role: Role) -> None:
        try:
            await role.run(self.stop, self.hurry)
            if not self.stop.is_set():
                raise RuntimeError(f"the role {role.name} ended by itself")  # noqa: TRY301 - handled like any failure
        except Exception:
            log.exception("role.failed", role=role.name)
            self._failed = True
        finally:
            self.stop.set()

    async def _hurry_up(self, running: Sequence[asyncio.Task[None]]) -> None:
        await self.hurry.wait()
        await asyncio.sleep(HURRY)
        for task in running:
            if not task.done():
                log.error("role.cancelled", role=task.get_name())
                task.cancel()

    def _exit_code(self) -> int:
        if self._failed:
            return FAILED
        return _KILLED_BY + self._signals[-1] if self.hurry.is_set() else 0
