"""The lead among schedulers as a lease: a key that holds the leader's name, for as long as the leader renews it."""

import asyncio
from datetime import timedelta
from functools import cache
from importlib import resources

from redis.asyncio import Redis

from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.connecting import REFUSALS, THEIRS, client, refused
from mainspring.logs import get_logger
from mainspring.ports.time import Random

log = get_logger(__name__)

KEY = "job_scheduler:scheduler:leader"
LEADERSHIP = "mainspring-leadership"
"""As administrators see the connection in CLIENT LIST."""


class RedisLeadership:
    """Asks the server on a connection of its own; after a failure not before a pause, which grows."""

    def __init__(self, address: Address, *, random: Random, pace: Pace | None = None) -> None:
        self._address = address
        self._random = random
        self._pace = pace or Pace()
        self._client: Redis = client(address, LEADERSHIP, self._pace.answer.total_seconds())
        self._hold = self._client.register_script(_script("hold"))
        self._release = self._client.register_script(_script("release"))
        self._failures = 0
        self._silent_until = float("-inf")

    async def open(self) -> None:
        """Connect if that is possible; ConfigurationError if there is a server, but it lets nobody in like this."""
        try:
            async with asyncio.timeout(self._pace.answer.total_seconds()):
                await self._client.get(KEY)
        except REFUSALS as error:
            raise refused(self._address, error) from error
        except THEIRS as error:
            self._fail(error)

    async def stand(self, name: str, ttl: timedelta) -> str | None:
        """Take the lead for *ttl* if it is free, keep it if it is *name*'s; return whose it is, None if unknown."""
        if asyncio.get_running_loop().time() < self._silent_until:
            return None
        try:
            # Whoever stands has a session to keep alive meanwhile.
            async with asyncio.timeout(min(self._pace.answer, ttl / 3).total_seconds()):
                holder = await self._hold(keys=[KEY], args=[name, max(ttl // timedelta(milliseconds=1), 1)])
        except THEIRS as error:
            self._fail(error)
            return None
        if self._failures:
            log.info("leadership.known_again", redis=self._address.shown)
        self._failures = 0
        return bytes(holder).decode(errors="replace") if holder else None

    async def resign(self, name: str) -> None:
        """Give the lead back if it is *name*'s; should that fail, it ends by itself."""
        try:
            async with asyncio.timeout(self._pace.answer.total_seconds()):
                await self._release(keys=[KEY], args=[name])
        except THEIRS as error:
            self._fail(error)

    async def close(self) -> None:
        """Let the connection go."""
        await self._client.aclose()

    def _fail(self, error: BaseException) -> None:
        self._failures += 1
        self._silent_until = asyncio.get_running_loop().time() + self._pace.pause(self._failures, self._random)
        if self._failures == 1:
            reason = str(error) or type(error).__name__
            log.warning("leadership.unknown", redis=self._address.shown, reason=reason)


@cache
def _script(name: str) -> str:
    return (resources.files(__package__) / "scripts" / f"{name}.lua").read_text("utf-8")
