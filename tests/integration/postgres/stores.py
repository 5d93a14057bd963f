"""Stores over one database, and as much of several processes as the server can tell apart."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.migrate import migrate
from mainspring.adapters.postgres.partitions import prepare
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    """A store of its own connections."""
    store = await PostgresStore.open(url, clock=SystemClock(), random=SystemRandom())
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def engines(url: str, count: int) -> AsyncIterator[list[Engine]]:
    """Engines of their own connections over one schema that is up to date."""
    await migrate(address(url))
    opened = [Engine(address(url), SystemRandom()) for _ in range(count)]
    for engine in opened:
        await engine.open()
    await prepare(opened[0])
    try:
        yield opened
    finally:
        for engine in opened:
            await engine.close()
