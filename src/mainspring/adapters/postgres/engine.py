"""Connections by purpose, transactions that are repeated when the server asks for it, and errors of our own.

The hot statements run on connections of their own, whose planner settings leave only the plan that was measured to be
right: with the statistics of a queue that is empty one moment and full the next, the planner's own choice flips.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

import asyncpg

from mainspring.adapters.postgres.address import Address
from mainspring.adapters.postgres.failures import REPEATABLE, THEIRS, translated, translation
from mainspring.adapters.postgres.types import KnowingConnection
from mainspring.ports.time import Random

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Operation = Callable[[Connection], Awaitable["T"]]
T = TypeVar("T")

CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 30.0
"""Nothing that a store is asked for takes as long; what does is given up, here and on the server."""
MOST_TRIES = 8
FIRST_PAUSE = 0.005


class Purpose(Enum):
    """What a connection is for."""

    GENERAL = "general"
    READ = "read"
    WRITE = "write"
    """Additions and orders: rows are found by their ids."""
    CLAIM = "claim"
    """Claims alone, for workers or a broker: none waits for somebody else's statement, or for its plan."""
    SETTLE = "settle"
    WATCH = "watch"
    """Heartbeats, and looks at what comes next: small and regular, and not to be held up, by the disk either.

    A beat that a crash of the server undoes is one that came too late, and the next is on its way. Nothing else is
    written here.
    """
    HANDLER = "handler"
    """Lent to handlers for their own statements, under the server's own settings."""


_EVERY: Final = MappingProxyType(
    {
        "jit": "off",
        "statement_timeout": str(int(STATEMENT_SECONDS * 1000)),
        "lock_timeout": "10000",
        "idle_in_transaction_session_timeout": "30000",
        "synchronous_commit": "on",
        "timezone": "UTC",
    }
)
_ROWS_BY_ARRAYS: Final = MappingProxyType(
    {
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_nestloop": "off",
        "enable_mergejoin": "off",
        "enable_bitmapscan": "off",
    }
)
_ROWS_IN_ORDER: Final = MappingProxyType(
    {
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_sort": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        "enable_bitmapscan": "off",
    }
)
_PLANS: Final[Mapping[Purpose, Mapping[str, str]]] = MappingProxyType(
    {
        Purpose.GENERAL: {},
        Purpose.READ: {
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
            "enable_hashjoin": "off",
            "enable_mergejoin": "off",
            "enable_bitmapscan": "off",
        },
        Purpose.CLAIM: _ROWS_IN_ORDER,
        Purpose.WATCH: {**_ROWS_IN_ORDER, "synchronous_commit": "off"},
        Purpose.WRITE: _ROWS_BY_ARRAYS,
        Purpose.SETTLE: _ROWS_BY_ARRAYS,
    }
)
_FEW = 2
"""Connections for each hot purpose: one process has one worker, which claims and settles one batch at a time."""


def settings(purpose: Purpose, schema: str) -> dict[str, str]:
    """What a connection for *purpose* has set."""
    return {} if purpose is Purpose.HANDLER else {**_EVERY, **_PLANS[purpose], "search_path": schema}


def _script(purpose: Purpose, schema: str) -> str:
    """What the server is told once a connection is open: a pooler would refuse it any earlier."""
    return "; ".join(f"SET {name} = '{value}'" for name, value in settings(purpose, schema).items())


def _name(purpose: Purpose) -> dict[str, str]:
    return {"application_name": "mainspring handler" if purpose is Purpose.HANDLER else "mainspring"}


async def connect(address: Address, purpose: Purpose = Purpose.GENERAL) -> "asyncpg.Connection[asyncpg.Record]":
    """One connection outside the pools, for whoever keeps it."""
    with translated(address.shown):
        connection = await asyncpg.connect(
            address.url,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            server_settings=_name(purpose),
            connection_class=KnowingConnection,
        )
        await connection.execute(_script(purpose, address.schema))
        return connection


class Engine:
    """Runs statements and transactions, each on a connection for its purpose."""

    def __init__(self, address: Address, random: Random) -> None:
        self.address = address
        self.random = random
        self._pools: dict[Purpose, asyncpg.Pool[asyncpg.Record]] = {}

    async def open(self) -> None:
        """Make the pools; connections are opened when they are needed."""
        most = self.address.connections
        sizes = dict.fromkeys(Purpose, most) | dict.fromkeys((Purpose.CLAIM, Purpose.SETTLE, Purpose.WATCH), _FEW)
        for purpose, size in sizes.items():
            script = _script(purpose, self.address.schema)
            with translated(self.address.shown):
                self._pools[purpose] = await asyncpg.create_pool(
                    self.address.url,
                    min_size=0,
                    max_size=size,
                    timeout=CONNECT_SECONDS,
                    command_timeout=None if purpose is Purpose.HANDLER else STATEMENT_SECONDS,
                    server_settings=_name(purpose),
                    connection_class=KnowingConnection,
                    init=partial(_tell, script=script) if script else None,
                    reset=None if purpose is Purpose.HANDLER else _leave_as_it_is,
                )

    async def close(self) -> None:
        """Let every connection finish what it does, but not for long."""
        for pool in self._pools.values():
            try:
                await asyncio.wait_for(pool.close(), CONNECT_SECONDS)
            except THEIRS:
                pool.terminate()

    async def fetch(self, statement: str, *values: Any, purpose: Purpose = Purpose.GENERAL) -> list[asyncpg.Record]:
        """The rows of one statement, in a transaction of its own."""

        async def ask(connection: Connection) -> list[asyncpg.Record]:
            return await connection.fetch(statement, *values)

        return await self._tried(ask, purpose)

    async def row(self, statement: str, *values: Any, purpose: Purpose = Purpose.GENERAL) -> asyncpg.Record | None:
        """The first row, or None."""
        rows = await self.fetch(statement, *values, purpose=purpose)
        return rows[0] if rows else None

    async def value(self, statement: str, *values: Any, purpose: Purpose = Purpose.GENERAL) -> Any:
        """The first column of the first row, or None."""
        row = await self.row(statement, *values, purpose=purpose)
        return None if row is None else row[0]

    async def execute(self, statement: str, *values: Any, purpose: Purpose = Purpose.GENERAL) -> None:
        """Run one statement that answers nothing."""
        await self.fetch(statement, *values, purpose=purpose)

    async def write(self, operation: "Operation[T]", purpose: Purpose = Purpose.GENERAL) -> T:
        """Run *operation* in a transaction, from its beginning again if the server rolled it back for others' sake."""

        async def whole(connection: Connection) -> T:
            async with connection.transaction():
                return await operation(connection)

        return await self._tried(whole, purpose)

    async def read(self, operation: "Operation[T]") -> T:
        """Run *operation* on one consistent state, for reading several times."""

        async def whole(connection: Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await operation(connection)

        return await self._tried(whole, Purpose.READ)

    async def _tried(self, operation: "Operation[T]", purpose: Purpose) -> T:
        for tries in range(1, MOST_TRIES + 1):
            try:
                async with self._connection(purpose) as connection:
                    return await operation(connection)
            except REPEATABLE as error:
                if tries == MOST_TRIES:
                    raise translation(error, self.address.shown) from error
            except THEIRS as error:
                if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                    await self._pools[purpose].expire_connections()  # the primary is elsewhere now
                raise translation(error, self.address.shown) from error
            await asyncio.sleep(FIRST_PAUSE * 2**tries * (0.5 + self.random.uniform() / 2))
        raise AssertionError("the last try returns or raises")

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        """A connection for somebody's own statements, whose errors are theirs and stay the driver's."""
        with translated(self.address.shown):
            connection = await self._pools[Purpose.HANDLER].acquire(timeout=CONNECT_SECONDS)
        try:
            yield connection
        finally:
            await self._pools[Purpose.HANDLER].release(connection)

    @asynccontextmanager
    async def _connection(self, purpose: Purpose) -> AsyncIterator[Connection]:
        # Whoever has a connection gives it back in bounded time, so that waiting for one needs no bound of its own.
        async with self._pools[purpose].acquire() as connection:
            try:
                yield connection
            except asyncpg.InternalClientError:
                connection.terminate()  # the driver lost its place in the conversation: nobody may take it up again
                raise


async def _tell(connection: Connection, script: str) -> None:
    await connection.execute(script)


async def _leave_as_it_is(_connection: Connection) -> None:
    """Nothing is ever set on a connection of ours, and the driver's own reset would cost a round trip per statement."""
