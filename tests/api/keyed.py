"""Clients that show a key, and what they need to be tested with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import aiohttp

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.access import ON_LOOPBACK, Access
from mainspring.api.app import create_app
from mainspring.api.keys import digest_of, make_key
from mainspring.api.ports import ApiPorts
from mainspring.ports.keys import ApiKey, Scope
from tests.api.serving import served

PATIENCE = 10
_secrets = count(1)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def stored_key(
    store: SqliteStore, owner: str, scope: Scope = Scope.WRITE, life: timedelta | None = None
) -> tuple[str, ApiKey]:
    """The text of a key that the store knows, and what it knows."""
    text = make_key(next(_secrets))
    now = datetime.now(UTC)
    key = ApiKey(
        id=uuid4(),
        digest=digest_of(text),
        owner=owner,
        name=owner,
        scope=scope,
        created_at=now,
        expires_at=None if life is None else now + life,
    )
    await store.keys.create(key)
    return text, key


@asynccontextmanager
async def guarded(ports: ApiPorts, access: Access = ON_LOOPBACK) -> AsyncIterator[aiohttp.ClientSession]:
    """A server with this access."""
    async with served(create_app(ports, access=access)) as session:
        yield session


async def status(client: aiohttp.ClientSession, path: str, method: str = "GET", **sent: Any) -> int:
    """How a request is answered."""
    async with client.request(method, path, **sent) as response:
        return response.status


async def closed(client: aiohttp.ClientSession, path: str) -> None:
    """Return once *path* needs a key."""
    async with asyncio.timeout(PATIENCE):
        for _ in count():
            if await status(client, path) == 401:
                return
            await asyncio.sleep(0.05)
