from collections.abc import Callable

import pytest

from mainspring.ports.journal import Journal, Note
from mainspring.testing.clock import ManualClock, ManualTime, Time
from mainspring.testing.contracts import (
    AuditContract,
    BlobsContract,
    ChangesContract,
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
from mainspring.testing.model import MemoryJournal, MemoryStore


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
    pass


class TestWork(OnTheModel, WorkContract):
    pass


class TestJournal(JournalContract):
    @pytest.fixture
    def open_journal(self) -> Callable[[], Journal]:
        disk: list[Note] = []
        return lambda: MemoryJournal(disk)
