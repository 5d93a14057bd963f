"""Wakes workers on time: sleeps to the moment when a lane's next run is due and signals that lane.

So workers needn't all look at every due moment. Without a ticker they still poll: it costs time, never a run.
"""

import asyncio
from datetime import timedelta

from mainspring.domain.ids import Lane
from mainspring.ports.sessions import Role, Sessions
from mainspring.ports.signals import Signals, lane_topic
from mainspring.ports.time import Clock, Random
from mainspring.ports.work import Work
from mainspring.services.loop import repeat, until
from mainspring.services.ownership import Owns, ticking

POLL = timedelta(seconds=1)
"""No sleep is longer, and due work that nobody claims is signalled again ever later, up to this."""
QUIET = timedelta(milliseconds=5)
"""At most one look, and one signal per lane, in this time."""

BUSY = timedelta(milliseconds=100)
"""While a lane has due work, that hides what comes next: the next look is no later than this."""

_POLL, _QUIET, _BUSY = POLL.total_seconds(), QUIET.total_seconds(), BUSY.total_seconds()
_LONG_AGO = float("-inf")


class Ticker:
    """Knows, per lane of its own, when to signal next and when it did last; in seconds of the monotonic clock."""

    def __init__(
        self, work: Work, sessions: Sessions, signals: Signals, clock: Clock, random: Random, *, owns: Owns
    ) -> None:
        self._work = work
        self._sessions = sessions
        self._signals = signals
        self._clock = clock
        self._random = random
        self._owns = owns
        self._served: tuple[Lane, ...] = ()
        self._served_at = _LONG_AGO
        self._lanes: tuple[Lane, ...] = ()
        self._looked_at = _LONG_AGO
        self._look_at = _LONG_AGO
        self._patience: dict[Lane, float] = {}
        self._signal_at: dict[Lane, float] = {}
        self._signalled_at: dict[Lane, float] = {}

    async def step(self) -> timedelta:
        """Signal lanes whose moment has come, look for the next moments, and return the wait until the first."""
        await self._signal()
        if self._clock.monotonic() < self._looked_at + _QUIET:
            return self._until(min([self._looked_at + _QUIET, *self._signal_at.values()]))
        await self._look()
        await self._signal()
        return self._until(min([self._look_at, *self._signal_at.values()]))

    async def run(self, stop: asyncio.Event) -> None:
        """Wake workers until *stop* is set."""
        await repeat(self.step, stop, service="ticker", clock=self._clock, random=self._random, wait=self._listen)

    async def _listen(self, at_most: timedelta) -> bool:
        """New work may be due before what is known; the workers, who were told as well, go first."""
        told = await self._signals.wait(tuple(lane_topic(lane) for lane in self._lanes), at_most)
        if told:
            await self._clock.sleep(min([QUIET, *map(self._until, self._signal_at.values())]))
        return told

    async def _signal(self) -> None:
        now = self._clock.monotonic()
        lanes = [lane for lane, at in self._signal_at.items() if at <= now]
        for lane in lanes:
            del self._signal_at[lane]
            self._signalled_at[lane] = now
        if lanes:
            await self._signals.notify(tuple(lane_topic(lane) for lane in lanes))

    async def _look(self) -> None:
        await self._see_who_is_served()
        self._lanes = tuple(lane for lane in self._served if self._owns(ticking(lane)))
        waits = await self._work.next_wake(self._lanes) if self._lanes else {}
        # The store's answer was true before this, so that nothing counted from here comes early.
        self._looked_at = self._clock.monotonic()
        self._look_at = self._looked_at + _POLL
        self._signal_at = {}
        for lane in self._lanes:
            self._expect(lane, waits.get(lane))

    async def _see_who_is_served(self) -> None:
        if self._clock.monotonic() < self._served_at + _POLL:
            return
        members = await self._sessions.live(Role.WORKER)
        self._served = tuple(sorted({lane for member in members for lane in member.lanes}))
        self._served_at = self._clock.monotonic()

    def _expect(self, lane: Lane, wait: timedelta | None) -> None:
        if wait is not None and wait <= timedelta(0):
            self._insist(lane)
            return
        self._patience.pop(lane, None)
        if wait is not None:
            signalled_at = self._signalled_at.get(lane, _LONG_AGO)
            self._signal_at[lane] = max(self._looked_at + wait.total_seconds(), signalled_at + _QUIET)

    def _insist(self, lane: Lane) -> None:
        """Due work may be what was signalled before, or have come since: say it again, but less and less often."""
        patience = self._patience.setdefault(lane, _QUIET)
        if self._looked_at >= self._signalled_at.get(lane, _LONG_AGO) + patience:
            self._signal_at[lane] = self._looked_at
            self._patience[lane] = min(2 * patience, _POLL)
        self._look_at = min(self._look_at, self._looked_at + min(patience, _BUSY))

    def _until(self, at: float) -> timedelta:
        return min(until(at, self._clock), POLL)
