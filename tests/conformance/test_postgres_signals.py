from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.signals import PostgresHub
from mainspring.adapters.system.chance import SystemRandom
from mainspring.ports.signals import Signals
from mainspring.testing.contracts import SignalsContract


@pytest.fixture
async def hub(postgres_url: str) -> AsyncIterator[PostgresHub]:
    hub = await PostgresHub.open(address(postgres_url), random=SystemRandom())
    yield hub
    await hub.close()


class TestPostgresSignalsOfOneProcess(SignalsContract):
    @pytest.fixture
    async def signals(self, hub: PostgresHub) -> Signals:
        return await hub.subscribe()

    @pytest.fixture
    async def second_signals(self, hub: PostgresHub) -> Signals:
        return await hub.subscribe()


class TestPostgresSignalsOfTwoProcesses(SignalsContract):
    @pytest.fixture
    async def signals(self, hub: PostgresHub) -> Signals:
        return await hub.subscribe()

    @pytest.fixture
    async def second_signals(self, postgres_url: str) -> AsyncIterator[Signals]:
        other = await PostgresHub.open(address(postgres_url), random=SystemRandom())
        yield await other.subscribe()
        await other.close()
