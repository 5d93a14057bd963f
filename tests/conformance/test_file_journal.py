from collections.abc import Callable
from pathlib import Path

import pytest

from mainspring.adapters.files.journal import FileJournal
from mainspring.ports.journal import Journal
from mainspring.testing.contracts import JournalContract


class TestFileJournal(JournalContract):
    @pytest.fixture
    def open_journal(self, tmp_path: Path) -> Callable[[], Journal]:
        return lambda: FileJournal(tmp_path, "worker-1", "0" * 32)
