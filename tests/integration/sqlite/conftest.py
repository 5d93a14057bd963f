import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from tests.integration.sqlite.support import RealClock
from tests.missing import do_without_rights


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(str(tmp_path / "store.db"), clock=RealClock())
    yield opened
    await opened.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A folder of its own file system, with the options that the test asks for."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        asked = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False, capture_output=True
        )
        if asked.returncode != 0:
            do_without_rights("mounting a small file system")
        return folder

    yield mount
    subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)
