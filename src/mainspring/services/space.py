"""Whether the store has room for what is written, by what came of the last writes.

No probe writes anything. Once a write was refused for want of room, this process tries a larger one now and then, and
that alone says when there is some again: a small write may still fit, and a repeated one may write nothing at all.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from mainspring.errors import StoreError, StoreFull
from mainspring.logs import get_logger
from mainspring.ports.blobs import Blobs
from mainspring.ports.time import Clock, Random
from mainspring.services.loop import repeat

INTERVAL = timedelta(seconds=5)
"""Between two tries."""
TRIED = 64 * 1024
"""Bytes: what a small write no longer shows. Nothing names them, so that they are pruned as every blob is."""

_BITS_PER_BYTE = 8
_log = get_logger(__name__)


class Space:
    """What is known of it in one process; told by every thread that writes."""

    def __init__(self) -> None:
        self.reason: str | None = None
        """Why nothing can be written, in one sentence, while that is so."""

    @property
    def full(self) -> bool:
        """Whether the last write of some size was refused for want of room."""
        return self.reason is not None

    def refused(self, error: StoreError) -> None:
        """A write failed; only one that found no room says anything here."""
        if isinstance(error, StoreFull):
            if self.reason is None:
                _log.error("store.full", reason=str(error))
            self.reason = str(error)

    def found(self) -> None:
        """A write of some size, that was new, succeeded."""
        if self.reason is not None:
            self.reason = None
            _log.info("store.has_room")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notice a refusal of what is written within the block."""
        try:
            yield
        except StoreError as error:
            self.refused(error)
            raise


class SpaceWatch:
    """Tries again while there is no room."""

    def __init__(self, space: Space, blobs: Blobs, clock: Clock, random: Random) -> None:
        self._space = space
        self._blobs = blobs
        self._clock = clock
        self._random = random

    async def step(self) -> timedelta:
        """Write something if nothing could be written, and return the wait until the next look."""
        if self._space.full:
            # New bytes each time: what is there already would need no room.
            data = self._random.bits(TRIED * _BITS_PER_BYTE).to_bytes(TRIED, "big")
            try:
                await self._blobs.put(data)
            except StoreError as error:
                self._space.refused(error)
            else:
                self._space.found()
        return INTERVAL

    async def run(self, stop: asyncio.Event) -> None:
        """Watch until *stop* is set."""
        await repeat(self.step, stop, service="space", clock=self._clock, random=self._random, wait=self._clock.sleep)
