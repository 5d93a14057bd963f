"""Real processes on one file: killed in mid-commit, or all at work at once."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from uuid import UUID

import apsw
import pytest

from mainspring.adapters.sqlite import connection
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import RunId
from tests.integration.sqlite.support import RealClock, new_run

ROOT = Path(__file__).parents[3]


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.integration.sqlite.programs", program, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("program", ["add", "add_and_move"])
async def test_what_was_acknowledged_survives_kill_nine_in_mid_commit(tmp_path: Path, program: str) -> None:
    path = str(tmp_path / "store.db")
    chance = random.Random(4)
    acknowledged: list[str] = []
    for _ in range(8):
        child = start(program, path)
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(chance.randrange(1, 60))]
        os.kill(child.pid, signal.SIGKILL)
        lines += child.stdout.readlines()
        child.wait()
        child.stdout.close()
        acknowledged += [line.strip() for line in lines if line.endswith("\n")]
    store = await SqliteStore.open(path, clock=RealClock())
    for identifier in acknowledged:
        assert await store.views.run(RunId(UUID(identifier))) is not None, identifier
    await store.close()
    assert apsw.Connection(path).pragma("integrity_check") == "ok"


async def test_processes_that_claim_at_once_never_share_a_run(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    store = await SqliteStore.open(path, clock=RealClock())
    runs = [new_run() for _ in range(600)]
    await store.work.add(runs)
    children = [start("claim", path, str(number)) for number in range(3)]
    outputs = await asyncio.gather(*(asyncio.to_thread(child.communicate, timeout=60) for child in children))
    claimed = [line for output, _ in outputs for line in output.split()]
    assert sorted(claimed) == sorted(str(run.id) for run in runs)
    await store.close()


async def test_processes_that_open_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    children = [start("open", str(tmp_path / "store.db")) for _ in range(4)]
    outputs = await asyncio.gather(*(asyncio.to_thread(child.communicate, timeout=60) for child in children))
    assert [child.returncode for child in children] == [0] * 4
    assert len({output for output, _ in outputs}) == 1


async def test_a_process_waits_while_another_prepares_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    refused = threading.Event()

    class Seen(connection._Patience):
        def __call__(self, previous_calls: int) -> bool:
            refused.set()
            return super().__call__(previous_calls)

    monkeypatch.setattr(connection, "_Patience", Seen)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    opening = asyncio.create_task(SqliteStore.open(str(path), clock=RealClock()))
    waiting = asyncio.create_task(asyncio.to_thread(refused.wait, 60))
    await asyncio.wait([opening, waiting], return_when=asyncio.FIRST_COMPLETED)
    refused.set()  # lets the waiting thread go where nothing was refused
    assert not opening.done(), opening
    other.execute("ROLLBACK")
    other.close()
    await (await opening).close()
