"""Virtual time and the choice of who goes next: the only source of order in a simulation."""

import heapq
import warnings
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

from mainspring.testing.simulation.loop import VirtualLoop

STEP = 1e-6
"""Seconds that a step takes. Were it none, whoever waits for a fraction of a microsecond would wait for ever."""
_MOST_STEPS = 20_000
_MOST_STEPS_PER_SECOND = 2_000


class Stuck(Exception):
    """Time can't go on: somebody spins without ever waiting."""


class Universe:
    """Runs loops step by step in an order that the seed decides; when nobody is ready, time jumps to the next timer."""

    def __init__(self, random: Random) -> None:
        self.time = 0.0
        self.steps = 0
        self.complaints: list[str] = []
        self._random = random.random
        self._timers: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._numbers = count()
        self._ready: list[VirtualLoop] = []
        self._loops: list[VirtualLoop] = []

    def loop(self, name: str) -> VirtualLoop:
        """A loop for a new thread."""
        loop = VirtualLoop(self, name)  # type: ignore[abstract]  # nobody here does input or output
        self._loops.append(loop)
        return loop

    def at(self, when: float, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back at *when*, outside every loop."""
        heapq.heappush(self._timers, (when, next(self._numbers), callback, arguments))

    def after(self, delay: float, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back in *delay* seconds."""
        heapq.heappush(self._timers, (self.time + delay, next(self._numbers), callback, arguments))

    def list(self, loop: VirtualLoop) -> None:
        """The loop has something to run; does nothing while it may not."""
        if loop.ready and not (loop.listed or loop.held or loop.halted):
            loop.listed = True
            self._ready.append(loop)

    def complain(self, text: str) -> None:
        """Somebody broke a rule that no property speaks of."""
        self.complaints.append(f"{self.time:.3f} {text}")

    def run_until(self, end: float) -> None:
        """Let time pass until *end*."""
        timers, ready, step = self._timers, self._ready, self._step
        while self.time < end:
            while timers and timers[0][0] <= self.time:
                _, _, callback, arguments = heapq.heappop(timers)
                callback(*arguments)
            if ready:
                step()
            else:
                self.time = min(timers[0][0], end) if timers else end

    def end(self) -> None:
        """Nothing happens any more."""
        with warnings.catch_warnings():
            # What was killed leaves coroutines behind that it hadn't come to await.
            warnings.simplefilter("ignore", RuntimeWarning)
            for loop in self._loops:
                loop.bury()
        self._timers.clear()

    def _step(self) -> None:
        ready = self._ready
        position = int(self._random() * len(ready)) if len(ready) > 1 else 0
        loop = ready[position]
        if loop.held or loop.halted or not loop.ready:
            loop.listed = False
            ready[position] = ready[-1]
            ready.pop()
            return
        loop.step()
        self.time += STEP
        self.steps += 1
        if self.steps > _MOST_STEPS + _MOST_STEPS_PER_SECOND * self.time:
            raise Stuck(f"{self.steps} steps in {self.time:.3f} s: somebody spins; the last was {loop.name}")
