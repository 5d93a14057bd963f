from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.testing.clock import ManualClock, ManualTime, Time
from mainspring.testing.contracts import (
    AuditContract,
    BlobsContract,
    ChangesContract,
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
    pass


class TestWork(OnSqlite, WorkContract):
    pass
