"""An engine without threads, whose operations take no time but their own."""

import asyncio
from typing import TypeVar

from mainspring.adapters.sqlite.connection import connect
from mainspring.adapters.sqlite.engine import Operation, Transaction, WallClock
from mainspring.adapters.sqlite.group_commit import Request, commit_group
from mainspring.adapters.sqlite.identity import identity
from mainspring.adapters.sqlite.migrate import migrate
from mainspring.adapters.sqlite.rows import to_micros

T = TypeVar("T")


class InlineEngine:
    """Everything in the calling thread, one transaction per operation: for the simulation."""

    def __init__(self, path: str, clock: WallClock) -> None:
        self._path = path
        self._clock = clock
        self._connection = connect(path)
        self.schema = migrate(self._connection, path)
        self.identity = identity(self._connection, path)

    async def write(self, operation: Operation[T]) -> T:
        """Run *operation* in a transaction of its own."""
        request = Request(operation, asyncio.get_running_loop(), asyncio.get_running_loop().create_future())
        commit_group(self._connection, self._path, self._clock, [request])
        request.resolve()
        result: T = await request.future
        return result

    async def read(self, operation: Operation[T]) -> T:
        """Run *operation* on the same connection: it sees what was committed."""
        return operation(Transaction(self._connection, to_micros(self._clock.now())))

    async def glance(self, operation: Operation[T]) -> T:
        """No other than a read here."""
        return await self.read(operation)

    def now(self) -> int:
        """The clock's now."""
        return to_micros(self._clock.now())

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()
