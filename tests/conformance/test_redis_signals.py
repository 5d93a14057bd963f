from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.memory.signals import Hub
from mainspring.adapters.redis.address import address
from mainspring.adapters.redis.signals import RedisHub
from mainspring.adapters.system.chance import SystemRandom
from mainspring.ports.signals import Signals
from mainspring.testing.contracts import SignalsContract
from servers.ports import free_port


@pytest.fixture
async def hub(redis_url: str) -> AsyncIterator[RedisHub]:
    hub = await RedisHub.open(address(redis_url), random=SystemRandom())
    yield hub
    await hub.close()


class TestRedisSignalsOfOneProcess(SignalsContract):
    @pytest.fixture
    async def signals(self, hub: RedisHub) -> Signals:
        return await hub.subscribe(Hub().subscribe())

    @pytest.fixture
    async def second_signals(self, hub: RedisHub) -> Signals:
        return await hub.subscribe(Hub().subscribe())


class TestRedisSignalsOfTwoProcesses(SignalsContract):
    @pytest.fixture
    async def signals(self, hub: RedisHub) -> Signals:
        return await hub.subscribe(Hub().subscribe())

    @pytest.fixture
    async def second_signals(self, redis_url: str) -> AsyncIterator[Signals]:
        other = await RedisHub.open(address(redis_url), random=SystemRandom())
        yield await other.subscribe(Hub().subscribe())
        await other.close()


class TestRedisSignalsWithoutRedis(SignalsContract):
    """Nobody listens at the port; what the store would do is done by a hub in memory."""

    @pytest.fixture
    def store(self) -> Hub:
        return Hub()

    @pytest.fixture
    async def unheard(self) -> AsyncIterator[RedisHub]:
        hub = await RedisHub.open(address(f"redis://127.0.0.1:{free_port()}/0"), random=SystemRandom())
        yield hub
        await hub.close()

    @pytest.fixture
    async def signals(self, unheard: RedisHub, store: Hub) -> Signals:
        return await unheard.subscribe(store.subscribe())

    @pytest.fixture
    async def second_signals(self, unheard: RedisHub, store: Hub) -> Signals:
        return await unheard.subscribe(store.subscribe())
