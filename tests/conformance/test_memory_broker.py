import pytest

from mainspring.adapters.memory.broker import MemoryBroker
from mainspring.ports.broker import Broker
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts import BrokerContract


class TestMemoryBroker(BrokerContract):
    @pytest.fixture
    async def broker(self) -> Broker:
        return MemoryBroker(ManualClock())

    @pytest.fixture
    async def second_broker(self, broker: Broker) -> Broker:
        return broker
