from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.migrate import migrations
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.postgres.upkeep import PostgresUpkeep
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.domain.ids import RunId
from mainspring.testing.clock import RealTime, Time
from mainspring.testing.contracts import (
    AuditContract,
    BlobsContract,
    ChangesContract,
    Extremes,
    KeysContract,
    LocksContract,
    OutputContract,
    SessionsContract,
    Store,
    TicketsContract,
    TimetableContract,
    UpkeepContract,
    ViewsContract,
    WorkContract,
)
from mainspring.testing.contracts.base import a_worker, added, claimed_one
from mainspring.testing.contracts.figures import the_tally
from mainspring.testing.factories import Factory


async def a_store(url: str) -> PostgresStore:
    """A process of its own on the tables that are there; what else it sees to when it opens them is tried elsewhere."""
    engine = Engine(address(url), SystemRandom())
    await engine.open()
    store = PostgresStore(engine, SystemClock(), None, migrations()[-1][0])
    await store.upkeep.prepare()
    return store


class PostgresExtremes:
    def __init__(self, store: PostgresStore) -> None:
        self._engine = store._engine

    async def fill_up(self) -> None:
        await PostgresUpkeep(self._engine, followed=timedelta(0)).fold(1000)
        await self._engine.execute("UPDATE total SET amount = $1", 2**63 - 1)

    async def put_off(self, run_id: RunId) -> None:
        await self._engine.execute("UPDATE queue SET wake_at = '20000-01-01' WHERE id = $1", run_id)


class OnPostgres:
    @pytest.fixture
    def time(self) -> Time:
        return RealTime()

    @pytest.fixture
    async def store(self, emptied_postgres_url: str) -> AsyncIterator[Store]:
        store = await a_store(emptied_postgres_url)
        yield store
        await store.close()

    @pytest.fixture
    def extremes(self, store: PostgresStore) -> Extremes:
        return PostgresExtremes(store)

    @pytest.fixture
    async def second_store(self, emptied_postgres_url: str, store: Store) -> AsyncIterator[Store]:
        assert store is not None
        second = await a_store(emptied_postgres_url)
        yield second
        await second.close()


class TestAudit(OnPostgres, AuditContract):
    pass


class TestBlobs(OnPostgres, BlobsContract):
    pass


class TestChanges(OnPostgres, ChangesContract):
    pass


class TestKeys(OnPostgres, KeysContract):
    pass


class TestLocks(OnPostgres, LocksContract):
    pass


class TestOutput(OnPostgres, OutputContract):
    pass


class TestSessions(OnPostgres, SessionsContract):
    pass


class TestTickets(OnPostgres, TicketsContract):
    pass


class TestTimetable(OnPostgres, TimetableContract):
    pass


class TestUpkeep(OnPostgres, UpkeepContract):
    @pytest.fixture
    async def store(self, emptied_postgres_url: str) -> AsyncIterator[Store]:
        """A store whose tallies needn't grow old before they are folded."""
        store = await a_store(emptied_postgres_url)
        store.upkeep = PostgresUpkeep(store._engine, followed=timedelta(0))
        yield store
        await store.close()


class TestViews(OnPostgres, ViewsContract):
    async def test_a_start_counts_as_a_week_late_at_most(self, store: PostgresStore, make: Factory) -> None:
        await added(store, make.run())
        month = "created_at - interval '30 days'"
        await store._engine.execute(f"UPDATE queue SET created_at = {month}, wake_at = {month}")  # noqa: S608 - no input
        await claimed_one(store, await a_worker(store))
        assert (await the_tally(store)).waited == timedelta(weeks=1)


class TestWork(OnPostgres, WorkContract):
    pass
