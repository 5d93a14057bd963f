"""Forgets what is too old to keep, a little at a time."""

import asyncio
from datetime import timedelta

from mainspring.logs import get_logger
from mainspring.ports.time import Clock, Random
from mainspring.ports.upkeep import Upkeep
from mainspring.services.loop import repeat
from mainspring.services.ownership import PRUNING, Owns

RETENTION = timedelta(weeks=12)
INTERVAL = timedelta(minutes=10)
BREATH = timedelta(milliseconds=200)
"""Between two batches, so that whoever needs the store gets it."""
BATCH = 1000
POLL = timedelta(seconds=1)

_log = get_logger(__name__)


class Pruner:
    """Removes a bounded batch at a time until nothing is left, then rests."""

    def __init__(
        self, upkeep: Upkeep, clock: Clock, random: Random, *, owns: Owns, retention: timedelta = RETENTION
    ) -> None:
        self._upkeep = upkeep
        self._clock = clock
        self._random = random
        self._owns = owns
        self._retention = retention

    async def step(self) -> timedelta:
        """Remove one batch, and return the wait until the next."""
        if not self._owns(PRUNING):
            return POLL
        removed = await self._upkeep.prune(self._retention, BATCH)
        if not removed:
            return INTERVAL
        _log.info("history.pruned", rows=removed, older_than_days=self._retention.days)
        return BREATH

    async def run(self, stop: asyncio.Event) -> None:
        """Prune until *stop* is set."""
        await repeat(self.step, stop, service="pruner", clock=self._clock, random=self._random, wait=self._clock.sleep)
