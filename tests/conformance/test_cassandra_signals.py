from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.rows import Rows
from mainspring.adapters.cassandra.signals import CassandraHub
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.ports.signals import Signals
from mainspring.testing.contracts import SignalsContract


@asynccontextmanager
async def opened(rows: Rows) -> AsyncIterator[CassandraHub]:
    hub = await CassandraHub.open(rows, clock=SystemClock(), random=SystemRandom())
    yield hub
    await hub.close()


@pytest.fixture
async def hub(cassandra_driver: Driver) -> AsyncIterator[CassandraHub]:
    async with opened(CqlRows(cassandra_driver)) as hub:
        yield hub


class TestCassandraSignalsOfOneProcess(SignalsContract):
    @pytest.fixture
    async def signals(self, hub: CassandraHub) -> Signals:
        return hub.subscribe()

    @pytest.fixture
    async def second_signals(self, hub: CassandraHub) -> Signals:
        return hub.subscribe()


class TestCassandraSignalsOfTwoProcesses(SignalsContract):
    @pytest.fixture
    async def signals(self, hub: CassandraHub) -> Signals:
        return hub.subscribe()

    @pytest.fixture
    async def second_signals(self, cassandra_driver: Driver) -> AsyncIterator[Signals]:
        async with opened(CqlRows(cassandra_driver)) as other:
            yield other.subscribe()
