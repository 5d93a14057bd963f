"""One look at everything in hand, ten times a second: a timer per run would cost more than the runs.

Whoever has just begun to work looks sooner: how much to take at once is learnt from how quick the first runs were.
"""

import asyncio
import math
from datetime import timedelta

from mainspring.logs import get_logger
from mainspring.ports.time import Clock
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor
from mainspring.worker.settings import WorkerSettings

INTERVAL = timedelta(milliseconds=100)
FIRST_LOOK = timedelta(milliseconds=10)
"""After this, once there is something to do again; then after twice as long, until the interval is reached."""
PATIENCE = 1.0
"""Seconds that a prefetched run may wait for a slot before somebody else should have it."""
_TOO_MANY_LOST = 0.25
_TURNS = 4
"""Runs per slot between two looks that show how quick they are."""
_SHORTEST = 1e-6

log = get_logger("mainspring.worker")


class Reaper:
    """Acts on deadlines, measures the rate and gives back what was prefetched in vain."""

    def __init__(self, settings: WorkerSettings, clock: Clock, executor: Executor, claims: Claims) -> None:
        self._settings = settings
        self._clock = clock
        self._executor = executor
        self._claims = claims
        self._busy_seconds = 0.0
        self._finished = 0
        self._starved_since: float | None = None
        self.slots_lost = asyncio.Event()
        """Set once a quarter of the slots is blocked by handlers that nothing can end."""

    async def run(self) -> None:
        """Look while there is anything to look at."""
        executor = self._executor
        pause = FIRST_LOOK
        while True:
            if not executor.in_hand and not executor.leaving:
                executor.busy.clear()
                await executor.busy.wait()
                pause = FIRST_LOOK
            await self._clock.sleep(pause)
            self.step()
            pause = min(2 * pause, INTERVAL)

    def step(self) -> None:
        """Look once."""
        now = self._clock.monotonic()
        self._measure(now)
        for execution in list(self._executor.executing.values()):
            if execution.act_at <= now:
                self._executor.act(execution)
        self._count_lost(now)
        self._give_back(now)

    def _measure(self, now: float) -> None:
        executor = self._executor
        busy_seconds = executor.busy_seconds(now)
        busy, finished = busy_seconds - self._busy_seconds, executor.finished - self._finished
        self._busy_seconds, self._finished = busy_seconds, executor.finished
        if busy > 0 or finished:
            measured, rate = finished / max(busy, _SHORTEST), self._claims.rate
            self._claims.rate = min(measured, self._most(finished)) if measured > rate else (rate + measured) / 2
        moving = finished or not executor.waiting
        self._starved_since = None if moving else (self._starved_since or now)

    def _most(self, finished: int) -> float:
        """What to believe at most: twice as much as before, so that one quick run doesn't fill our hands.

        Where all slots have proved to be quick there is no need for caution. Downwards it goes by halves: a lull is
        forgiven.
        """
        slots = self._settings.concurrency
        if finished >= _TURNS * slots:
            return math.inf
        return 2 * max(self._claims.rate, slots / max(self._settings.prefetch.total_seconds(), _SHORTEST))

    def _count_lost(self, now: float) -> None:
        lost = sum(execution.act_at <= now for execution in self._executor.leaving.values())
        if lost and lost >= self._settings.concurrency * _TOO_MANY_LOST and not self.slots_lost.is_set():
            log.error("worker.slots_lost", lost=lost, of=self._settings.concurrency)
            self.slots_lost.set()

    def _give_back(self, now: float) -> None:
        if self._starved_since is not None and now - self._starved_since >= PATIENCE:
            log.info("worker.gave_back", runs=len(self._executor.waiting))
            self._executor.hand_back_waiting("no slot came free")
            self._claims.rate = 0.0
            self._starved_since = None
