"""The Cassandra adapter over rows in a dictionary: its protocols, without a server."""

from datetime import timedelta
from typing import ClassVar

import pytest

from mainspring.adapters.cassandra.locks import SKEW
from mainspring.adapters.cassandra.store import CassandraStore
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
from mainspring.testing.rows.dictionary import Dictionary, DictionaryRows
from mainspring.testing.virtual_time import SeededRandom
from tests.conformance.extremes import CassandraExtremes


class OverRows:
    has_transactions: ClassVar[bool] = False
    lock_skew: ClassVar[timedelta] = SKEW

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def time(self, clock: ManualClock) -> Time:
        return ManualTime(clock)

    @pytest.fixture
    def dictionary(self) -> Dictionary:
        return Dictionary()

    @pytest.fixture
    async def store(self, clock: ManualClock, dictionary: Dictionary) -> Store:
        return a_store(dictionary, clock, seed=1)

    @pytest.fixture
    def extremes(self, store: CassandraStore) -> Extremes:
        return CassandraExtremes(store)

    @pytest.fixture
    async def second_store(self, clock: ManualClock, dictionary: Dictionary) -> Store:
        return a_store(dictionary, clock, seed=2)


def a_store(dictionary: Dictionary, clock: ManualClock, *, seed: int) -> CassandraStore:
    """A process of its own on the same rows."""
    return CassandraStore.over(DictionaryRows(dictionary, clock), clock=clock, random=SeededRandom(seed))


class TestAudit(OverRows, AuditContract):
    pass


class TestBlobs(OverRows, BlobsContract):
    pass


class TestChanges(OverRows, ChangesContract):
    pass


class TestKeys(OverRows, KeysContract):
    pass


class TestLocks(OverRows, LocksContract):
    pass


class TestOutput(OverRows, OutputContract):
    pass


class TestSessions(OverRows, SessionsContract):
    pass


class TestTickets(OverRows, TicketsContract):
    pass


class TestTimetable(OverRows, TimetableContract):
    pass


class TestUpkeep(OverRows, UpkeepContract):
    pass


class TestViews(OverRows, ViewsContract):
    async def test_a_start_counts_as_a_week_late_at_most(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, make.run())
        await time.pass_(timedelta(days=30))
        await claimed_one(store, await a_worker(store))
        assert (await the_tally(store)).waited == timedelta(weeks=1)


class TestWork(OverRows, WorkContract):
    pass
