"""The Transactions port: a handler's own statements and its success in one PostgreSQL transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mainspring.adapters.postgres.engine import Connection, Engine
from mainspring.domain.ids import BlobId, Fence, RunId
from mainspring.errors import WrongState


class PostgresTransactions:
    """Lends connections that have the server's own settings: the search path, above all, is the user's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._succeed = f'SELECT "{engine.address.schema}".succeed($1, $2, $3, $4)'

    @asynccontextmanager
    async def settling(
        self, run: RunId, fence: Fence, *, result: bytes | None = None, blob: BlobId | None = None
    ) -> AsyncIterator[Connection]:
        """A connection in a transaction that ends with the run's success."""
        async with self._engine.lent() as connection, connection.transaction():
            yield connection
            if not await connection.fetchval(self._succeed, run, fence, result, blob):
                raise WrongState(f"run {run} was taken from this attempt: nothing that it did was committed")
