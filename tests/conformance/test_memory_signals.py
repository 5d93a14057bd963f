import pytest

from mainspring.adapters.memory.signals import Hub
from mainspring.ports.signals import Signals
from mainspring.testing.contracts import SignalsContract


class TestMemorySignals(SignalsContract):
    @pytest.fixture
    def hub(self) -> Hub:
        return Hub()

    @pytest.fixture
    async def signals(self, hub: Hub) -> Signals:
        return hub.subscribe()

    @pytest.fixture
    async def second_signals(self, hub: Hub) -> Signals:
        return hub.subscribe()
