"""Fires the timetable: reads what is due, lets `plan` decide, and has the store apply the decisions."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from mainspring.domain.plan import Advance, DueJob, plan, postponed
from mainspring.ports.signals import TIMETABLE, Signals, lane_topic
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.services.loop import repeat
from mainspring.services.ownership import Owns, firing

POLL = timedelta(seconds=1)
"""No sleep is longer, unless told so: a lost signal, a suspended machine or a clock that was set cost no more."""

_NOW = timedelta(0)
_log = structlog.get_logger()


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
    ) -> None:
        self._timetable = timetable
        self._signals = signals
        self._clock = clock
        self._random = random
        self._owns = owns
        self._shards = range(shards)
        self._limit = limit
        self._poll = poll

    async def step(self) -> timedelta:
        """Fire what is due, and return the wait until something will be."""
        mine = frozenset(shard for shard in self._shards if self._owns(firing(shard)))
        if not mine:
            return self._poll
        due = await self._timetable.due(self._limit, mine)
        # The store said its *now* before this, so that nothing counted from here comes early.
        read_at = self._clock.monotonic()
        advances = [_planned(job, due.now) for job in due.jobs]
        if advances:
            await self._fire(advances)
        next_in = self._poll if due.next_in is None else due.next_in
        waits = [advance.wake_at - due.now for advance in advances if advance.wake_at is not None]
        elapsed = timedelta(seconds=self._clock.monotonic() - read_at)
        return max(min(self._poll, next_in, *waits) - elapsed, _NOW)

    async def run(self, stop: asyncio.Event) -> None:
        """Fire until *stop* is set."""
        await repeat(self.step, stop, service="planner", clock=self._clock, random=self._random, wait=self._listen)

    async def _listen(self, at_most: timedelta) -> bool:
        return await self._signals.wait((TIMETABLE,), at_most)

    async def _fire(self, advances: Sequence[Advance]) -> None:
        applied = [advance for advance, won in zip(advances, await self._timetable.fire(advances), strict=True) if won]
        runs = [run for advance in applied for run in advance.runs]
        skips = sum(len(advance.skips) for advance in applied)
        _log.debug("timetable.fired", jobs=len(applied), lost=len(advances) - len(applied), runs=len(runs), skips=skips)
        if runs:
            await self._signals.notify(tuple(dict.fromkeys(lane_topic(run.task.lane) for run in runs)))


def _planned(due: DueJob, now: datetime) -> Advance:
    try:
        return plan(due, now)
    except Exception:  # noqa: BLE001 - whatever is wrong with one job, say a zone that is no more, the others must fire
        _log.exception("job.unplannable", job=str(due.job.id), schedule=due.job.terms.schedule)
        return postponed(due, now)
