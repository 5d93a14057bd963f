"""Whether a server beside the store is there: asked now and then, so that whoever wants to know needn't wait."""

import asyncio
from datetime import timedelta

from mainspring.ports.pipes import Pipe, Probe
from mainspring.ports.time import Clock, Random
from mainspring.services.loop import repeat

INTERVAL = timedelta(seconds=2)


class Lookout:
    """Remembers what one server answered last, and since when it has been like that."""

    def __init__(self, probe: Probe, clock: Clock, random: Random) -> None:
        self._probe = probe
        self._clock = clock
        self._random = random
        self._connected = False
        self._since = clock.now()
        self._error: str | None = "nobody has asked it yet"

    def pipe(self, purpose: str) -> Pipe:
        """The server as it was when it was last asked, in one of its uses."""
        return Pipe(
            purpose=purpose, url=self._probe.url, connected=self._connected, since=self._since, error=self._error
        )

    async def step(self) -> timedelta:
        """Ask it."""
        self._error = await self._probe.ask()
        if self._connected != (self._error is None):
            self._connected = self._error is None
            self._since = self._clock.now()
        return INTERVAL

    async def run(self, stop: asyncio.Event) -> None:
        """Ask until *stop* is set."""
        await repeat(self.step, stop, service="lookout", clock=self._clock, random=self._random, wait=self._clock.sleep)
