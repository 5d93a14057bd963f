"""Knowing whether the server is there: after a failure it is left alone, asked ever more rarely, until it answers."""

import asyncio
from collections.abc import Awaitable, Callable

from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.connecting import THEIRS
from mainspring.logs import get_logger
from mainspring.ports.broker import Connection
from mainspring.ports.time import Clock, Random

log = get_logger(__name__)


class Reconnecting:
    """How it stands with one server. *probe* asks it for all that is needed of it, and raises if it can't be had."""

    def __init__(
        self, address: Address, probe: Callable[[], Awaitable[None]], *, clock: Clock, random: Random, pace: Pace
    ) -> None:
        self._address = address
        self._probe = probe
        self._clock = clock
        self._random = random
        self._pace = pace
        self._failures = 0
        self._failed = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self.connection = Connection(url=address.shown, up=True, since=clock.now())
        """As far as is known."""

    async def check(self) -> None:
        """Ask the server in bounded time; raises what the probe does, or something else of THEIRS if there is none."""
        async with asyncio.timeout(self._pace.answer.total_seconds()):
            await self._probe()

    def keep(self) -> None:
        """Look for the server from now on: now and then while it is there, until it answers while it isn't."""
        self._looking = asyncio.create_task(self._keep(), name="mainspring-broker")

    def worked(self) -> None:
        """The server has done what it was asked for. A probe proves less: only this ends a row of failures."""
        self._failures = 0

    def lost(self, error: BaseException) -> None:
        """The server has failed: nobody asks it for anything until it answers a probe."""
        reason = str(error) or type(error).__name__
        if self.connection.up:
            log.warning("broker.lost", redis=self._address.shown, reason=reason)
        self._failures += 1
        self._set(up=False, error=reason)
        self._failed.set()

    async def close(self) -> None:
        """Look no more; twice changes nothing."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _keep(self) -> None:
        while True:
            if self.connection.up:
                await self._until_failed(self._pace.heartbeat.total_seconds())
            if not self.connection.up:
                await asyncio.sleep(self._pace.pause(self._failures, self._random))
            try:
                await self.check()
            except THEIRS as error:
                self.lost(error)
            else:
                self._find()

    async def _until_failed(self, at_most: float) -> None:
        self._failed.clear()
        try:
            async with asyncio.timeout(at_most):
                await self._failed.wait()
        except TimeoutError:
            return

    def _find(self) -> None:
        if not self.connection.up:
            self._set(up=True, error=self.connection.error)
            log.info("broker.found", redis=self._address.shown)

    def _set(self, *, up: bool, error: str) -> None:
        known = self.connection
        since = known.since if up == known.up else self._clock.now()
        self.connection = Connection(url=known.url, up=up, since=since, error=error)
