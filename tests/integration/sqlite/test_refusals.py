"""Files that can't be used are refused with a sentence that says what to do, and are left as they were."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from mainspring.adapters.sqlite.migrate import migrations
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import DEFAULT_LANE, RunId
from mainspring.errors import ConfigurationError, SchemaTooNew, StoreCorrupt, StoreFull, StoreReadOnly
from mainspring.ports.views import Cursor, RunFilter
from tests.integration.sqlite.support import RealClock, new_run, new_session


async def open_store(path: Path) -> SqliteStore:
    return await SqliteStore.open(str(path), clock=RealClock())


async def list_runs(path: Path) -> None:
    store = await open_store(path)
    try:
        await store.views.runs(RunFilter(), Cursor())
    finally:
        await store.close()


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere doesn't exist"):
        await open_store(tmp_path / "nowhere" / "store.db")


async def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    text = "Dear reader, this is a letter. " * 100
    path.write_text(text)
    with pytest.raises(StoreCorrupt, match="isn't a Mainspring store"):
        await open_store(path)
    assert path.read_text() == text


async def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE accounts (id)")
    connection.close()
    with pytest.raises(StoreCorrupt, match="not a Mainspring store"):
        await open_store(path)


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await (await open_store(path)).close()
    newest = migrations()[-1][0]
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {newest + 1}")
    connection.close()
    with pytest.raises(SchemaTooNew, match="upgrade"):
        await open_store(path)


async def test_a_damaged_file_is_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await open_store(path)
    await store.work.add([new_run(b'"' + b"x" * 1000 + b'"') for _ in range(200)])
    await store.close()
    connection = apsw.Connection(str(path))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="restore a backup"):
        await list_runs(path)


async def test_a_read_only_place_is_refused(small_disk: Callable[[str], Path]) -> None:
    folder = small_disk("size=8m")
    await (await open_store(folder / "store.db")).close()
    await asyncio.to_thread(subprocess.run, ["mount", "-o", "remount,ro", str(folder)], check=True)
    with pytest.raises(StoreReadOnly, match="can't be"):
        await open_store(folder / "store.db")


async def add_until_full(store: SqliteStore, payload: bytes, acknowledged: list[RunId]) -> None:
    for _ in range(3000):
        run = new_run(payload)
        await store.work.add([run])
        acknowledged.append(run.id)


async def test_nothing_is_acknowledged_on_a_full_disk_and_work_goes_on_once_there_is_room(
    small_disk: Callable[[str], Path],
) -> None:
    folder = small_disk("size=9m")
    store = await open_store(folder / "store.db")
    ballast = folder / "ballast"
    ballast.write_bytes(b"\0" * 3_500_000)
    payload = b'"' + b"x" * 3000 + b'"'
    acknowledged: list[RunId] = []
    with pytest.raises(StoreFull, match="no space left"):
        await add_until_full(store, payload, acknowledged)
    assert acknowledged
    for identifier in acknowledged:
        assert await store.views.run(identifier) is not None

    ballast.unlink()
    await store.work.add([new_run(payload)])
    session = await store.sessions.open(new_session())
    claim = await store.work.claim(session, [DEFAULT_LANE], 5000)
    assert {attempt.run_id for attempt in claim.attempts} >= set(acknowledged)
    assert len(claim.attempts) == len(acknowledged) + 1
    await store.close()
