"""What a worker does while its process is short of descriptors, memory, threads or disk.

Nothing that it executes is to blame, and trying on would only hand back what others could do: it claims nothing for
a while, longer each time, and says so. After each pause it tries again, until nothing was lacking for some time.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from mainspring.errors import Exhausted
from mainspring.logs import get_logger
from mainspring.ports.observing import Observer
from mainspring.ports.time import Clock
from mainspring.worker.waiting import until_any

FIRST = timedelta(seconds=1)
LONGEST = timedelta(seconds=30)
QUIET = timedelta(seconds=10)
"""After so long without another lack, the next one begins anew."""

log = get_logger("mainspring.worker")


class Shortage:
    """Pauses between two tries; *changed* is called when the worker may claim again, or has something to tell."""

    def __init__(self, clock: Clock, observer: Observer, changed: Callable[[], None]) -> None:
        self._clock = clock
        self._observer = observer
        self._changed = changed
        self._noted = asyncio.Event()
        self.pausing = False
        """Whether nothing should be claimed just now."""
        self.reason: str | None = None
        """What is lacking, until it has been there for a while."""

    def note(self, lack: Exhausted) -> None:
        """Something could not begin for want of *lack*."""
        self._observer.exhausted(lack.lack)
        if self.reason is None:
            log.error("worker.exhausted", reason=str(lack), pause_seconds=FIRST.total_seconds())
        self.reason = str(lack)
        self.pausing = True
        self._noted.set()

    async def run(self) -> None:
        """Pause and try again for ever."""
        while True:
            await self._noted.wait()
            pause = FIRST
            while self._noted.is_set():
                self._changed()
                await self._clock.sleep(pause)
                # What began before the pause says nothing about what can begin after it.
                self._noted.clear()
                self.pausing = False
                self._changed()
                await until_any(self._clock, QUIET, self._noted)
                pause = min(2 * pause, LONGEST)
            self.reason = None
            log.info("worker.recovered")
            self._changed()
