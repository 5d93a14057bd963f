from datetime import timedelta
from typing import ClassVar

import pytest

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.locks import SKEW
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
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
from tests.conformance.extremes import CassandraExtremes


def a_store(driver: Driver) -> CassandraStore:
    """A process of its own on the tables that are there, over connections that are open already."""
    return CassandraStore(Context.over(CqlRows(driver), clock=SystemClock(), random=SystemRandom()))


class OnCassandra:
    has_transactions: ClassVar[bool] = False
    lock_skew: ClassVar[timedelta] = SKEW

    @pytest.fixture
    def time(self) -> Time:
        return RealTime()

    @pytest.fixture
    async def store(self, emptied_cassandra: Driver) -> Store:
        return a_store(emptied_cassandra)

    @pytest.fixture
    def extremes(self, store: CassandraStore) -> Extremes:
        return CassandraExtremes(store)

    @pytest.fixture
    async def second_store(self, emptied_cassandra: Driver, store: Store) -> Store:
        assert store is not None
        return a_store(emptied_cassandra)


class TestAudit(OnCassandra, AuditContract):
    pass


class TestBlobs(OnCassandra, BlobsContract):
    pass


class TestChanges(OnCassandra, ChangesContract):
    pass


class TestKeys(OnCassandra, KeysContract):
    pass


class TestLocks(OnCassandra, LocksContract):
    pass


class TestOutput(OnCassandra, OutputContract):
    pass


class TestSessions(OnCassandra, SessionsContract):
    pass


class TestTickets(OnCassandra, TicketsContract):
    pass


class TestTimetable(OnCassandra, TimetableContract):
    pass


class TestUpkeep(OnCassandra, UpkeepContract):
    pass


class TestViews(OnCassandra, ViewsContract):
    pass


class TestWork(OnCassandra, WorkContract):
    pass
