from pathlib import Path

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.client import Client
from mainspring.client.errors import NotFound
from mainspring.testing.factories import a_session


async def test_a_worker_is_drained_and_resumed(client: Client, tmp_path: Path) -> None:
    store = await SqliteStore.open(str(tmp_path / "mainspring.db"), clock=SystemClock())
    await store.sessions.open(a_session("over/there 7"))
    await store.close()
    assert (await client.drain_worker("over/there 7")).status == "draining"
    assert [worker.status for worker in await client.workers()] == ["draining"]
    assert (await client.resume_worker("over/there 7")).status == "active"


async def test_a_worker_that_is_not_alive_is_not_found(client: Client) -> None:
    for ask in (client.drain_worker, client.resume_worker):
        with pytest.raises(NotFound, match="no live worker"):
            await ask("nobody")
