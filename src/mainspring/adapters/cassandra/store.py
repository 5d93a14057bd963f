"""The store for those who outgrow one database: one keyspace of Cassandra or ScyllaDB, every port."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mainspring.adapters.cassandra.address import address
from mainspring.adapters.cassandra.audit import CassandraAudit
from mainspring.adapters.cassandra.blobs import CassandraBlobs
from mainspring.adapters.cassandra.changes import CassandraChanges
from mainspring.adapters.cassandra.checkup import CassandraCheckup
from mainspring.adapters.cassandra.claim import Claims
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.keys import CassandraKeys
from mainspring.adapters.cassandra.layout import SHARDS
from mainspring.adapters.cassandra.locks import CassandraLocks
from mainspring.adapters.cassandra.migrate import identity_of, open_driver
from mainspring.adapters.cassandra.output import CassandraOutput
from mainspring.adapters.cassandra.rows import Rows
from mainspring.adapters.cassandra.schema import SCHEMA
from mainspring.adapters.cassandra.sessions import CassandraSessions
from mainspring.adapters.cassandra.tickets import CassandraTickets
from mainspring.adapters.cassandra.timetable import CassandraTimetable
from mainspring.adapters.cassandra.upkeep import CassandraUpkeep
from mainspring.adapters.cassandra.views import CassandraViews
from mainspring.adapters.cassandra.work import CassandraWork
from mainspring.ports.time import Clock, Random


class CassandraStore:
    """Durable on a quorum before it answers; any number of processes on any number of machines share it."""

    shards = SHARDS
    transactions = None

    def __init__(
        self, context: Context, *, schema: int = SCHEMA, identity: str = "", driver: Driver | None = None
    ) -> None:
        self._context = context
        self._driver = driver
        self.schema = schema
        """The version of the tables."""
        self.identity = identity
        """Who the store is, for as long as the keyspace lives."""
        self.timetable = CassandraTimetable(context)
        self.audit = CassandraAudit(context)
        intents = Intents(context)
        claims = Claims(context, intents)
        self.work = CassandraWork(context, self.audit, intents, claims)
        self.tickets = CassandraTickets(context, intents, claims.waits)
        self.sessions = CassandraSessions(context)
        self.locks = CassandraLocks(context)
        self.views = CassandraViews(context)
        self.blobs = CassandraBlobs(context)
        self.upkeep = CassandraUpkeep(context)
        self.keys = CassandraKeys(context)
        self.output = CassandraOutput(context)
        self.changes = CassandraChanges(context)
        self.checkup = None if driver is None else CassandraCheckup(driver, context.clock)
        self.heartbeat: Callable[[], AbstractAsyncContextManager[CassandraSessions]] | None = (
            None if driver is None else self._sessions_on_this_loop
        )

    @classmethod
    def over(cls, rows: Rows, *, clock: Clock, random: Random) -> "CassandraStore":
        """The same store over any rows."""
        return cls(Context.over(rows, clock=clock, random=random))

    @classmethod
    async def open(cls, url: str, *, clock: Clock, random: Random) -> "CassandraStore":
        """Connect, and bring the tables up to date; StoreUnavailable unless a node answers."""
        driver, schema = await open_driver(address(url))
        rows = CqlRows(driver)
        identity = await identity_of(rows, random)
        return cls(Context.over(rows, clock=clock, random=random), schema=schema, identity=identity, driver=driver)

    @asynccontextmanager
    async def _sessions_on_this_loop(self) -> AsyncIterator[CassandraSessions]:
        """Sessions for another loop than the store's: answers of the driver go to the loop that asked."""
        assert self._driver is not None  # noqa: S101 - offered only with one
        here = Context.over(CqlRows(self._driver), clock=self._context.clock, random=self._context.random)
        yield CassandraSessions(here)

    async def close(self) -> None:
        """Write down what has happened, and let the connections go."""
        await self._context.ledger.written()
        if self._driver is not None:
            await self._driver.close()
