"""A simulated process: its threads, its life, and the ways in which it can be disturbed."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from mainspring.testing.simulation.history import Happened, History
from mainspring.testing.simulation.loop import VirtualLoop
from mainspring.testing.simulation.universe import Universe


class Dead(BaseException):
    """Raised at whatever a killed process still tries to do while it is cleared away."""


class Process:
    """One life under a name: a restart is another process with the same name and the next number."""

    def __init__(
        self,
        universe: Universe,
        history: History,
        name: str,
        life: int,
        random: Random,
        *,
        gone: Callable[["Process"], None] = lambda _: None,
    ) -> None:
        self._gone = gone
        self.universe = universe
        self.history = history
        self.name = name
        self.life = life
        self.label = f"{name}#{life}"
        self.random = random
        self.skew = 0.0
        """Seconds by which its wall clock is wrong."""
        self.loses_power = False
        """Whether its machine dies with it the next time it is killed."""
        self.alive = True
        self.main = universe.loop(self.label)
        self.main.burnt = self.crash
        self._threads = [self.main]
        self.stop: asyncio.Event | None = None
        self.hurry: asyncio.Event | None = None

    def start(self, main: Coroutine[Any, Any, Any]) -> None:
        """Begin to live."""
        self.main.create_task(main).add_done_callback(self._ended)

    def thread(self) -> VirtualLoop:
        """A loop beside the main one, which goes on while that one is blocked."""
        loop = self.universe.loop(f"{self.label}+{len(self._threads)}")
        if self.main.held and all(thread.held for thread in self._threads):
            loop.held = self.main.held
        self._threads.append(loop)
        return loop

    def check(self) -> None:
        """Let nobody act who is dead."""
        if not self.alive:
            raise Dead

    def crash(self) -> None:
        """Die, as by SIGKILL: no task resumes, no clean-up reaches anybody."""
        if self.alive:
            self._end("killed")

    def crash_soon(self, steps: int) -> None:
        """Die after so many steps of the main loop, wherever that is."""
        if self.alive:
            self.main.fuse = steps

    def pause(self, seconds: float) -> None:
        """Stand still, as by SIGSTOP; timers that expire meanwhile all fire afterwards."""
        self._hold(list(self._threads), seconds, f"paused for {seconds:.1f} s")

    def block(self, seconds: float) -> None:
        """Have the main loop blocked by something that doesn't return; other threads go on."""
        self._hold([self.main], seconds, f"blocked for {seconds:.1f} s")

    def relieve(self) -> None:
        """End every disturbance at once."""
        for thread in self._threads:
            thread.fuse = thread.held = 0
            self.universe.list(thread)

    def terminate(self, *, hurried: bool) -> None:
        """Ask the process to end, as by one or two SIGTERMs."""
        if self.alive and self.stop is not None and self.hurry is not None:
            self._say("asked to end" + (" at once" if hurried else ""))
            self.main.call_soon_threadsafe(self.stop.set)
            if hurried:
                self.main.call_soon_threadsafe(self.hurry.set)

    def _hold(self, threads: list[VirtualLoop], seconds: float, what: str) -> None:
        if self.alive:
            self._say(what)
            for thread in threads:
                thread.hold()
                self.universe.after(seconds, thread.release)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.universe.complain(f"{self.label} ended with {error!r}")
        self._end("ended")

    def _end(self, what: str) -> None:
        self._say(what)
        self.alive = False
        for thread in self._threads:
            thread.halt()
        self._gone(self)

    def _say(self, what: str) -> None:
        self.history.record(Happened(self.universe.time, self.label, what))
