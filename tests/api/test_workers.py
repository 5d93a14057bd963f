"""Workers that are asked to take no more work, over HTTP."""

from typing import Any

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.ports.keys import Scope
from mainspring.ports.sessions import News
from mainspring.testing.contracts.base import a_worker
from tests.api.calling import Api
from tests.api.keyed import bearer, closed, status, stored_key

WORKERS = "/api/v1/workers"
DRAIN, RESUME = f"{WORKERS}/worker-7/drain", f"{WORKERS}/worker-7/resume"


async def test_a_worker_drains_until_it_is_resumed(api: Api, store: SqliteStore) -> None:
    session = await a_worker(store, "worker-7")
    await a_worker(store, "worker-8")
    await store.sessions.beat(session, News(executing=3))
    for _ in range(2):
        drained = await api.post(DRAIN, 200)
        assert (drained["id"], drained["status"], drained["executing"]) == ("worker-7", "draining", 3)
    assert [each["status"] for each in (await api.get(WORKERS))["items"]] == ["draining", "active"]
    await store.sessions.beat(session, News(drained=True))
    assert (await api.get(WORKERS))["items"][0]["status"] == "drained"
    assert (await api.post(RESUME, 200))["status"] == "active"
    heard = await store.sessions.beat(session, News())
    assert heard is not None
    assert not heard.draining


async def test_all_sessions_of_a_name_are_meant(api: Api, store: SqliteStore) -> None:
    await a_worker(store, "worker-7")
    newest = await a_worker(store, "worker-7")
    assert (await api.post(DRAIN, 200))["session"] == newest
    assert [each["status"] for each in (await api.get(WORKERS))["items"]] == ["draining", "draining"]


@pytest.mark.parametrize("path", [DRAIN, RESUME, f"{WORKERS}/over/there/drain"])
async def test_a_worker_that_is_not_alive_is_not_found(api: Api, store: SqliteStore, path: str) -> None:
    await store.sessions.close(await a_worker(store, "worker-7"))
    assert (await api.post(path, 404))["error"] == "not_found"


async def test_a_name_may_hold_a_slash(api: Api, store: SqliteStore) -> None:
    await a_worker(store, "over/there")
    assert (await api.post(f"{WORKERS}/over/there/drain", 200))["id"] == "over/there"


async def test_both_are_audited(api: Api, store: SqliteStore) -> None:
    await a_worker(store, "worker-7")
    await api.post(DRAIN, 200, headers={"X-User-ID": "ann"})
    await api.post(RESUME, 200, headers={"X-User-ID": "ann"})
    entries = (await api.get("/api/v1/audit"))["items"]
    assert [_told(entry) for entry in entries] == [
        ("ann", "worker.resume", "worker:worker-7", "draining", "active"),
        ("ann", "worker.drain", "worker:worker-7", "active", "draining"),
    ]


async def test_only_an_administrator_drains(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    await a_worker(store, "worker-7")
    keys = {scope: (await stored_key(store, "ann", scope))[0] for scope in Scope}
    await closed(client, WORKERS)
    for scope, expected in ((Scope.READ, 403), (Scope.WRITE, 403), (Scope.ADMIN, 200)):
        for path in (DRAIN, RESUME):
            assert await status(client, path, "POST", headers=bearer(keys[scope])) == expected
        assert await status(client, WORKERS, headers=bearer(keys[scope])) == 200


def _told(entry: Any) -> tuple[str, ...]:
    return entry["actor"], entry["action"], entry["subject"], entry["before"]["status"], entry["after"]["status"]
