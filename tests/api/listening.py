"""A reader of event streams."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

EVENTS = "/api/v1/events"
PATIENCE = 20
"""Seconds after which an event that should have come won't any more."""


@dataclass(frozen=True)
class Heard:
    """One event; *id* is the last that the stream told, as browsers keep it."""

    kind: str
    data: dict[str, Any]
    id: str


class Listener:
    def __init__(self, response: aiohttp.ClientResponse, last_id: str) -> None:
        self._response = response
        self.last_id = last_id

    async def next(self, *kinds: str) -> Heard:
        """The next event (of these kinds)."""
        async with asyncio.timeout(PATIENCE):
            while True:
                heard = await self._event()
                assert heard is not None, "the stream has ended"
                if not kinds or heard.kind in kinds:
                    return heard

    async def rest(self) -> list[Heard]:
        """All events until the stream ends."""
        heard = []
        async with asyncio.timeout(PATIENCE):
            while (event := await self._event()) is not None:
                heard.append(event)
        return heard

    async def _event(self) -> Heard | None:
        kind, data = "message", ""
        async for line in self._response.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                self.last_id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not name and data:
                return Heard(kind, json.loads(data), self.last_id)
        return None


@asynccontextmanager
async def listening(
    client: aiohttp.ClientSession, path: str = EVENTS, after: str | None = None, **headers: str
) -> AsyncIterator[Listener]:
    """An open stream; whatever changes from now on is heard."""
    sent = {**headers, **({} if after is None else {"Last-Event-ID": after})}
    async with client.get(path, headers=sent) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield Listener(response, after or "")
