"""Orders and jobs in one PostgreSQL database, so that one transaction has both."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from examples.orders.database import SCHEMA, OrderTask, once
from mainspring import Context
from mainspring.postgres import add

CONNECTIONS = 10
# Any number: processes that start together create the tables one after the other.
_TURN = 0x6F72_6465_7273


class PostgresTransaction:
    """A transaction that somebody else commits."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Execute one statement and return its rows."""
        rows: Sequence[Sequence[Any]] = await self._connection.fetch(statement, *values)
        return rows

    async def add_job(self, task: OrderTask, order_id: str) -> None:
        """Store the job as part of the transaction."""
        await add(self._connection, [once(task, order_id).job(order_id)])


class PostgresDatabase:
    """A database that a URL names."""

    away: tuple[type[Exception], ...] = (
        OSError,
        TimeoutError,
        asyncpg.PostgresConnectionError,
        asyncpg.OperatorInterventionError,
        asyncpg.InterfaceError,
    )
    forgets_jobs = False

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def prepare(self) -> None:
        """Create what isn't there yet."""
        connection = await asyncpg.connect(self.url)
        try:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _TURN)
                await connection.execute(SCHEMA)
        finally:
            await connection.close()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Create what isn't there yet, and be usable inside the block."""
        await self.prepare()
        async with asyncpg.create_pool(self.url, min_size=1, max_size=CONNECTIONS) as self._pool:
            yield

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresTransaction]:
        """Commit when the block ends, and roll back if it raises."""
        if self._pool is None:
            raise RuntimeError("the database isn't open")
        async with self._pool.acquire() as connection, connection.transaction():
            yield PostgresTransaction(connection)

    @asynccontextmanager
    async def effect(self, context: Context) -> AsyncIterator[PostgresTransaction]:
        """What the block changes, and the run's success, commit together: however often it is tried, it is once."""
        async with context.transaction() as connection:
            yield PostgresTransaction(connection)
