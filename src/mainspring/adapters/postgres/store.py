"""The store for many machines: one PostgreSQL schema, every port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.audit import PostgresAudit
from mainspring.adapters.postgres.blobs import PostgresBlobs
from mainspring.adapters.postgres.changes import PostgresChanges
from mainspring.adapters.postgres.checkup import PostgresCheckup
from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.identity import identity
from mainspring.adapters.postgres.keys import PostgresKeys
from mainspring.adapters.postgres.locks import PostgresLocks
from mainspring.adapters.postgres.migrate import migrate
from mainspring.adapters.postgres.output import PostgresOutput
from mainspring.adapters.postgres.pooling import check_sessions
from mainspring.adapters.postgres.sessions import PostgresSessions
from mainspring.adapters.postgres.tickets import PostgresTickets
from mainspring.adapters.postgres.timetable import PostgresTimetable
from mainspring.adapters.postgres.transactions import PostgresTransactions
from mainspring.adapters.postgres.upkeep import PostgresUpkeep
from mainspring.adapters.postgres.views import PostgresViews
from mainspring.adapters.postgres.work import PostgresWork
from mainspring.ports.signals import Herald
from mainspring.ports.time import Clock, Random


class PostgresStore:
    """Durable before it answers; any number of processes on any number of machines share it."""

    shards = 1

    def __init__(self, engine: Engine, clock: Clock, herald: Herald | None, schema: int, identity: str = "") -> None:
        self._engine = engine
        self.identity = identity
        """Who the store is, for as long as the schema lives."""
        self.schema = schema
        """The number of the newest migration that the schema has."""
        self.timetable = PostgresTimetable(engine)
        self.work = PostgresWork(engine, clock, herald)
        self.tickets = PostgresTickets(engine)
        self.sessions = PostgresSessions(engine)
        self.locks = PostgresLocks(engine)
        self.views = PostgresViews(engine)
        self.blobs = PostgresBlobs(engine)
        self.upkeep = PostgresUpkeep(engine)
        self.audit = PostgresAudit(engine)
        self.keys = PostgresKeys(engine)
        self.output = PostgresOutput(engine)
        self.changes = PostgresChanges(engine)
        self.transactions = PostgresTransactions(engine)
        self.checkup = PostgresCheckup(engine)

    @classmethod
    async def open(cls, url: str, *, clock: Clock, random: Random, herald: Herald | None = None) -> "PostgresStore":
        """Connect, unless a pooler is in the way; bring the schema up to date, and give history weeks to write to."""
        where = address(url)
        await check_sessions(where)
        schema = await migrate(where)
        engine = Engine(where, random)
        await engine.open()
        store = cls(engine, clock, herald, schema, await identity(engine))
        await store.upkeep.prepare()
        return store

    @asynccontextmanager
    async def heartbeat(self) -> AsyncIterator[PostgresSessions]:
        """Sessions on a connection of their own, on the loop of whoever calls: a busy one mustn't lose them."""
        engine = Engine(self._engine.address, self._engine.random)
        await engine.open()
        try:
            yield PostgresSessions(engine)
        finally:
            await engine.close()

    async def close(self) -> None:
        """Finish what was asked and let the connections go."""
        await self._engine.close()
