"""Verdicts that the store refuses: kept, and offered again ever more rarely, in nobody's way.

Their runs are held until somebody takes them back, because the session ended or their time is up; then the store says
that the verdict is stale. Until then it stays in the journal, for a version to come that the store understands.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta

from mainspring.domain.outcome import Verdict
from mainspring.logs import get_logger
from mainspring.ports.incidents import Incidents
from mainspring.ports.observing import Observer
from mainspring.ports.time import Clock, Random
from mainspring.ports.work import Work
from mainspring.worker.delivery import Refused
from mainspring.worker.waiting import until_any

FIRST = timedelta(seconds=1)
LONGEST = timedelta(minutes=5)

log = get_logger("mainspring.worker")


class _Kept:
    def __init__(self, refused: Refused, now: float) -> None:
        self.verdict = refused.verdict
        self.reason = refused.reason
        self.pause = FIRST
        self.due = now + FIRST.total_seconds()


class Refusals:
    """What is said about each verdict is said once per reason."""

    def __init__(self, work: Work, clock: Clock, random: Random, observer: Observer, incidents: Incidents) -> None:
        self._work = work
        self._clock = clock
        self._random = random
        self._observer = observer
        self._incidents = incidents
        self._kept: list[_Kept] = []
        self._more = asyncio.Event()

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """Those that are kept."""
        return [each.verdict for each in self._kept]

    def keep(self, refused: Iterable[Refused]) -> None:
        """Take over what the store doesn't take."""
        for each in refused:
            self._incidents.refused(each.verdict, each.reason)
            self._kept.append(_Kept(each, self._clock.monotonic()))
            self._more.set()
        self._observer.refused(len(self._kept))

    async def run(self) -> None:
        """Offer each again when its time has come, for ever."""
        while True:
            if not self._kept:
                await self._more.wait()
            self._more.clear()
            soonest = min(each.due for each in self._kept)
            await until_any(self._clock, timedelta(seconds=soonest - self._clock.monotonic()), self._more)
            for each in [each for each in self._kept if each.due <= self._clock.monotonic()]:
                await self._offer(each)

    async def _offer(self, kept: _Kept) -> None:
        try:
            [answer] = await self._work.settle([kept.verdict])
        except Exception as error:  # noqa: BLE001 - whatever it is, the verdict stays
            reason = str(error) or type(error).__name__
            if reason != kept.reason:
                self._incidents.refused(kept.verdict, reason)
            kept.reason = reason
            kept.pause = min(kept.pause * 2, LONGEST)
            kept.due = self._clock.monotonic() + kept.pause.total_seconds() * (0.5 + self._random.uniform() / 2)
        else:
            self._kept.remove(kept)
            self._observer.refused(len(self._kept))
            log.info("settle.refusal_over", run=str(kept.verdict.run_id), answer=answer.name.lower())
