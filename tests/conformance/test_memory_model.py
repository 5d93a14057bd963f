from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.ids import RunId
from mainspring.ports.journal import Journal, Note
from mainspring.testing.clock import ManualClock, ManualTime, Time
from mainspring.testing.contracts import (
    AuditContract,
    BlobsContract,
    ChangesContract,
    Extremes,
    JournalContract,
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
from mainspring.testing.model import MemoryJournal, MemoryStore


class ModelExtremes:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def fill_up(self) -> None:
        await self._store.upkeep.fold(1000)
        totals = self._store.tables.totals
        totals.update(dict.fromkeys(totals, 2**63 - 1))

    async def put_off(self, run_id: RunId) -> None:
        tables = self._store.tables
        tables.change(tables.runs[run_id], wake_at=datetime.max.replace(tzinfo=UTC))


class OnTheModel:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def time(self, clock: ManualClock) -> Time:
        return ManualTime(clock)

    @pytest.fixture
    async def store(self, clock: ManualClock) -> Store:
        return MemoryStore(clock)

    @pytest.fixture
    def extremes(self, store: MemoryStore) -> Extremes:
        return ModelExtremes(store)

    @pytest.fixture
    async def second_store(self, clock: ManualClock, store: MemoryStore) -> Store:
        return MemoryStore(clock, tables=store.tables)


class TestAudit(OnTheModel, AuditContract):
    pass


class TestBlobs(OnTheModel, BlobsContract):
    pass


class TestChanges(OnTheModel, ChangesContract):
    pass


class TestKeys(OnTheModel, KeysContract):
    pass


class TestLocks(OnTheModel, LocksContract):
    pass


class TestOutput(OnTheModel, OutputContract):
    pass


class TestSessions(OnTheModel, SessionsContract):
    pass


class TestTickets(OnTheModel, TicketsContract):
    pass


class TestTimetable(OnTheModel, TimetableContract):
    pass


class TestUpkeep(OnTheModel, UpkeepContract):
    pass


class TestViews(OnTheModel, ViewsContract):
    async def test_a_start_counts_as_a_week_late_at_most(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, make.run())
        await time.pass_(timedelta(days=30))
        await claimed_one(store, await a_worker(store))
        assert (await the_tally(store)).waited == timedelta(weeks=1)


class TestWork(OnTheModel, WorkContract):
    pass


class TestJournal(JournalContract):
    @pytest.fixture
    def open_journal(self) -> Callable[[], Journal]:
        disk: list[Note] = []
        return lambda: MemoryJournal(disk)
