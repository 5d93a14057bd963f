from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.redis.address import address
from mainspring.adapters.redis.broker import RedisBroker
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.ports.broker import Broker
from mainspring.testing.contracts import BrokerContract


class TestRedisBroker(BrokerContract):
    @pytest.fixture
    async def broker(self, redis_url: str) -> AsyncIterator[Broker]:
        broker = RedisBroker(address(redis_url), clock=SystemClock(), random=SystemRandom())
        await broker.open()
        yield broker
        await broker.close()

    @pytest.fixture
    async def second_broker(self, redis_url: str, broker: Broker) -> AsyncIterator[Broker]:
        assert broker.connection.up
        second = RedisBroker(address(redis_url), clock=SystemClock(), random=SystemRandom())
        await second.open()
        yield second
        await second.close()
