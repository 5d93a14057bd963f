from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.adapters.files.signals import FileSignals
from mainspring.ports.signals import Signals
from mainspring.testing.contracts import SignalsContract


class TestFileSignals(SignalsContract):
    @pytest.fixture
    async def signals(self, tmp_path: Path) -> AsyncIterator[Signals]:
        signals = await FileSignals.open(tmp_path / "signals")
        yield signals
        await signals.close()

    @pytest.fixture
    async def second_signals(self, tmp_path: Path) -> AsyncIterator[Signals]:
        signals = await FileSignals.open(tmp_path / "signals")
        yield signals
        await signals.close()
