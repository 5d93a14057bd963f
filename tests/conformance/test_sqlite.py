from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import RunId
from mainspring.testing.clock import ManualClock, ManualTime, Time
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


class SqliteExtremes:
    def __init__(self, store: SqliteStore) -> None:
        self._engine = store._engine

    async def fill_up(self) -> None:
        await self._engine.write(lambda transaction: transaction.execute("UPDATE total SET amount = ?1", 2**63 - 1))

    async def put_off(self, run_id: RunId) -> None:
        update = "UPDATE queue SET wake_at = ?1 WHERE id = ?2"
        await self._engine.write(lambda transaction: transaction.execute(update, 2**60, run_id.bytes))


class OnSqlite:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def time(self, clock: ManualClock) -> Time:
        return ManualTime(clock)

    @pytest.fixture
    async def store(self, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Store]:
        store = await SqliteStore.open(str(tmp_path / "store.db"), clock=clock)
        yield store
        await store.close()

    @pytest.fixture
    def extremes(self, store: SqliteStore) -> Extremes:
        return SqliteExtremes(store)

    @pytest.fixture
    async def second_store(self, tmp_path: Path, clock: ManualClock, store: Store) -> AsyncIterator[Store]:
        assert store is not None
        second = await SqliteStore.open(str(tmp_path / "store.db"), clock=clock)
        yield second
        await second.close()


class TestAudit(OnSqlite, AuditContract):
    pass


class TestBlobs(OnSqlite, BlobsContract):
    pass


class TestChanges(OnSqlite, ChangesContract):
    pass


class TestKeys(OnSqlite, KeysContract):
    pass


class TestLocks(OnSqlite, LocksContract):
    pass


class TestOutput(OnSqlite, OutputContract):
    pass


class TestSessions(OnSqlite, SessionsContract):
    pass


class TestTickets(OnSqlite, TicketsContract):
    pass


class TestTimetable(OnSqlite, TimetableContract):
    pass


class TestUpkeep(OnSqlite, UpkeepContract):
    pass


class TestViews(OnSqlite, ViewsContract):
    async def test_a_start_counts_as_a_week_late_at_most(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, make.run())
        await time.pass_(timedelta(days=30))
        await claimed_one(store, await a_worker(store))
        assert (await the_tally(store)).waited == timedelta(weeks=1)


class TestWork(OnSqlite, WorkContract):
    pass
