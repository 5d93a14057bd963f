"""Fires the timetable: reads what is due, lets `plan` decide, and has the store apply the decisions."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from mainspring.domain.plan import Advance, DueJob, plan, postponed
from mainspring.logs import get_logger
from mainspring.ports.incidents import Incidents, Untold
from mainspring.ports.signals import TIMETABLE, Signals, lane_topic
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.services.loop import repeat
from mainspring.services.ownership import Owns, firing

POLL = timedelta(seconds=1)
"""No sleep is longer, unless told so: a lost signal, a suspended machine or a clock that was set cost no more."""
LATENESS = timedelta(seconds=1)
"""So late may a planner that watches its shards always be, and one that sleeps for longer twice its sleep."""

_NOW = timedelta(0)
_log = get_logger(__name__)
_UNTOLD = Untold()


class Planner:
    """Plans for the shards that it owns. Of two that believe one is theirs, one wins each fire: no harm is done."""

    def __init__(
        self,
        timetable: Timetable,
        signals: Signals,
        clock: Clock,
        random: Random,
        *,
        owns: Owns,
        shards: int = 1,
        limit: int = 200,
        poll: timedelta = POLL,
        incidents: Incidents = _UNTOLD,
    ) -> None:
        self._timetable = timetable
        self._signals = signals
        self._clock = clock
        self._random = random
        self._owns = owns
        self._shards = range(shards)
        self._limit = limit
        self._poll = poll
        self._latest = max(LATENESS, 2 * poll)
        self._looked_at: dict[int, float] = {}
        """When each shard was looked at last with all that was due then decided, or first, by the monotonic clock."""
        self._incidents = incidents

    async def step(self) -> timedelta:
        """Fire what is due, and return the wait until something will be."""
        mine = frozenset(shard for shard in self._shards if self._owns(firing(shard)))
        if not mine:
            return self._poll
        asked_at = self._clock.monotonic()
        due = await self._timetable.due(self._limit, mine)
        # The store said its *now* before this, so that nothing counted from here comes early.
        read_at = self._clock.monotonic()
        advances = [self._planned(each, due.now, self._lateness(each.shard, read_at)) for each in due.jobs]
        for shard in mine:
            # Whatever the first look leaves over: what comes after it isn't missed.
            self._looked_at.setdefault(shard, asked_at)
        decided = await self._fire(due.jobs, advances) if advances else True
        if decided and due.next_in != _NOW:
            self._looked_at.update(dict.fromkeys(mine, asked_at))
        next_in = self._poll if due.next_in is None else due.next_in
        waits = [advance.wake_at - due.now for advance in advances if advance.wake_at is not None]
        elapsed = timedelta(seconds=self._clock.monotonic() - read_at)
        return max(min(self._poll, next_in, *waits) - elapsed, _NOW)

    async def run(self, stop: asyncio.Event) -> None:
        """Fire until *stop* is set."""
        await repeat(self.step, stop, service="planner", clock=self._clock, random=self._random, wait=self._listen)

    async def _listen(self, at_most: timedelta) -> bool:
        return await self._signals.wait((TIMETABLE,), at_most)

    def _lateness(self, shard: int, read_at: float) -> timedelta:
        """How late moments may be for no other reason than that this planner hadn't looked yet.

        Counted by the monotonic clock, because the store's may be set. What was due at the last look and couldn't be
        decided then, because it was too much or somebody else was faster, isn't missed either.
        """
        looked_at = self._looked_at.get(shard)
        return _NOW if looked_at is None else min(timedelta(seconds=read_at - looked_at), self._latest)

    async def _fire(self, jobs: Sequence[DueJob], advances: Sequence[Advance]) -> bool:
        """Whether all of them were applied."""
        fired = zip(jobs, advances, await self._timetable.fire(advances), strict=True)
        applied: list[Advance] = []
        for due, advance, won in fired:
            if won:
                applied.append(advance)
                for skip in advance.skips:
                    self._incidents.skipped(due.job, skip)
        runs = [run for advance in applied for run in advance.runs]
        skips = sum(len(advance.skips) for advance in applied)
        _log.debug("timetable.fired", jobs=len(applied), lost=len(advances) - len(applied), runs=len(runs), skips=skips)
        if runs:
            await self._signals.notify(tuple(dict.fromkeys(lane_topic(run.task.lane) for run in runs)))
        return len(applied) == len(advances)

    def _planned(self, due: DueJob, now: datetime, lateness: timedelta) -> Advance:
        try:
            return plan(due, now, lateness)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one job, say its zone, the others must fire
            self._incidents.unplannable(due.job, error)
            return postponed(due, now)
