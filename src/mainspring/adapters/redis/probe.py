"""Whether the server answers, asked on one connection that is kept."""

import asyncio

from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.connecting import ANSWER, REFUSALS, THEIRS, client, refused, silent

NAME = "mainspring-lookout"
"""As administrators see the connection in CLIENT LIST."""


class RedisProbe:
    """`Probe` by PING, which needs no right beyond being let in."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client = client(address, NAME, ANSWER)

    @property
    def url(self) -> str:
        """As `Probe.url`."""
        return self._address.shown

    async def ask(self) -> str | None:
        """As `Probe.ask`."""
        try:
            async with asyncio.timeout(ANSWER):
                await self._client.ping()
        except REFUSALS as error:
            return str(refused(self._address, error))
        except THEIRS as error:
            return silent(self._address, error)
        return None

    async def close(self) -> None:
        """Let the connection go."""
        await self._client.aclose()
