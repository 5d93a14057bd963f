import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.dealing import dealt

# Thousands of stores are made and synced, and none is to outlive its test: memory is as good a place as a disk, and
# doesn't wait for one that others keep busy.
_MEMORY = Path("/dev/shm")  # noqa: S108 - folders in it have names that nobody can guess
_ROOM = 8 * 1024**3
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM:
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None

# A run in the background of a shell ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [
    "tests.lost_tasks",
    "tests.missing",
    "tests.postgres",
    "tests.cassandra",
    "tests.valkey",
    "tests.results",
]

# Before anything imports them: contract suites live in the package, and their assertions are to explain themselves too.
pytest.register_assert_rewrite("mainspring.testing.contracts")

# A shared machine may stall any example; slowness is judged by benchmarks, not by properties.
settings.register_profile("mainspring", deadline=None, print_blob=True)
settings.load_profile("mainspring")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let what takes longest begin first: if it began last, everybody would wait for it in the end."""
    workers: int = getattr(config, "workerinput", {}).get("workercount", 1)
    items[:] = dealt(items, workers)


def pytest_collection_finish() -> None:
    """All tests are there for good, and so is all that their modules have loaded: nobody need look through it again."""
    gc.freeze()
    gc.set_threshold(20_000)


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: tests wait for the programs that they start as much as they compute."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)
