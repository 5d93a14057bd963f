"""Wakes workers for due work that none of them took: looks at each lane just after its next moment, and signals it.

A worker knows from its last claim when the next run is due, and goes first; the ticker is for those moments that no
idle worker knew of. Without a ticker they still poll: it costs time, never a run.
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
HEAD_START = timedelta(milliseconds=3)
"""What the workers have to take a run that is due, before they are told of it."""
LONGEST_REST = timedelta(milliseconds=50)
"""After that long, news that doesn't cease is looked at; no later than what is known to be due."""
BUSY = timedelta(milliseconds=100)
"""While a lane has due work, that hides what comes next: the next look is no later than this."""

_POLL, _QUIET, _BUSY = POLL.total_seconds(), QUIET.total_seconds(), BUSY.total_seconds()
_HEAD_START = HEAD_START.total_seconds()
_LONG_AGO = float("-inf")


class Ticker:
    """Knows when to look next and, per lane of its own, when it signalled last; in seconds of the monotonic clock."""

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
        self._rest = QUIET
        """How long to leave news to the workers: ever longer, while it comes without a break."""
        self._patience: dict[Lane, float] = {}
        self._signalled_at: dict[Lane, float] = {}

    async def step(self) -> timedelta:
        """Look for due work if it is time, signal its lanes, and return the wait until the next look."""
        earliest = self._looked_at + _QUIET
        if self._clock.monotonic() < earliest:
            return self._until(earliest)
        await self._look()
        return self._until(max(self._look_at, self._looked_at + _QUIET))

    async def run(self, stop: asyncio.Event) -> None:
        """Wake workers until *stop* is set."""
        await repeat(self.step, stop, service="ticker", clock=self._clock, random=self._random, wait=self._listen)

    async def _listen(self, at_most: timedelta) -> bool:
        """New work may be due before what is known; the workers, who were told as well, go first."""
        told = await self._signals.wait(tuple(lane_topic(lane) for lane in self._lanes), at_most)
        if told:
            await self._clock.sleep(max(min(self._rest, self._until(self._look_at)), QUIET))
        self._rest = min(2 * self._rest, LONGEST_REST) if told else QUIET
        return told

    async def _look(self) -> None:
        await self._see_who_is_served()
        self._lanes = tuple(lane for lane in self._served if self._owns(ticking(lane)))
        waits = await self._work.next_wake(self._lanes) if self._lanes else {}
        # The store's answer was true before this, so that nothing counted from here comes early.
        self._looked_at = self._clock.monotonic()
        self._look_at = self._looked_at + _POLL
        due = [lane for lane in self._lanes if self._is_due(lane, waits.get(lane))]
        if due:
            await self._signals.notify(tuple(lane_topic(lane) for lane in due))

    async def _see_who_is_served(self) -> None:
        if self._clock.monotonic() < self._served_at + _POLL:
            return
        members = await self._sessions.live(Role.WORKER)
        self._served = tuple(sorted({lane for member in members for lane in member.lanes}))
        self._served_at = self._clock.monotonic()

    def _is_due(self, lane: Lane, wait: timedelta | None) -> bool:
        """Whether to signal a lane now whose next run is due after *wait*."""
        if wait is not None and wait <= timedelta(0):
            return self._insists(lane)
        self._patience.pop(lane, None)
        if wait is not None:
            self._look_at = min(self._look_at, self._looked_at + wait.total_seconds() + _HEAD_START)
        return False

    def _insists(self, lane: Lane) -> bool:
        """Due work may be what was signalled before, or have come since: say it again, but less and less often."""
        patience = self._patience.setdefault(lane, _QUIET)
        self._look_at = min(self._look_at, self._looked_at + min(patience, _BUSY))
        if self._looked_at < self._signalled_at.get(lane, _LONG_AGO) + patience:
            return False
        self._signalled_at[lane] = self._looked_at
        self._patience[lane] = min(2 * patience, _POLL)
        return True

    def _until(self, at: float) -> timedelta:
        return min(until(at, self._clock), POLL)
