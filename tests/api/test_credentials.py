import asyncio
from datetime import timedelta

import aiohttp
import pytest
from fastapi import FastAPI

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.access import Access, GivenKey
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.ports.keys import Scope
from tests.api.keyed import PATIENCE, bearer, closed, guarded, status, stored_key
from tests.api.serving import served

JOBS = "/api/v1/jobs"
JOB = {"handler": "test.echo"}
CHOSEN = "a key that somebody chose"


async def test_without_keys_everybody_on_this_machine_may_do_everything(client: aiohttp.ClientSession) -> None:
    async with client.post(JOBS, json=JOB) as response:
        assert response.status == 201


async def test_the_first_key_closes_the_door(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    async with client.get(JOBS) as response:
        assert response.status == 200
    key, _ = await stored_key(store, "ann")
    await closed(client, JOBS)
    async with client.get(JOBS, headers=bearer(key)) as response:
        assert response.status == 200


async def test_a_key_counts_from_the_moment_it_exists(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    async with client.get(JOBS) as response:
        assert response.status == 200
    key, _ = await stored_key(store, "ann")
    async with client.post(JOBS, json=JOB, headers=bearer(key)) as response:
        assert (await response.json())["owner"] == "ann"


async def test_elsewhere_a_key_is_needed_before_the_first_exists(ports: ApiPorts) -> None:
    async with guarded(ports, Access(open_without_keys=False)) as client:
        assert await status(client, JOBS) == 401


async def test_a_key_from_the_settings_works(ports: ApiPorts) -> None:
    async with guarded(ports, Access(keys=[GivenKey("ann", CHOSEN)])) as client:
        async with client.post(JOBS, json=JOB, headers=bearer(CHOSEN)) as response:
            assert response.status == 201
            assert (await response.json())["owner"] == "ann"
        assert await status(client, JOBS) == 401


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Basic YW5uOmtleQ==", "Bearer ms_live_nonsense", "Bearer \u00e9", "Bearer " + "x" * 5000],
)
async def test_what_is_no_key_is_refused_with_a_challenge(client: aiohttp.ClientSession, header: str) -> None:
    async with client.get(JOBS, headers={"Authorization": header}) as response:
        assert response.status == 401
        assert response.content_type == "application/problem+json"
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
        assert (await response.json(content_type=None))["error"] == "unauthorized"


async def test_a_revoked_key_is_refused_within_a_second(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    text, key = await stored_key(store, "ann")
    assert await status(client, JOBS, headers=bearer(text)) == 200
    await store.keys.revoke(key.id)
    await asyncio.sleep(1)  # what is promised: from then on it is refused
    assert await status(client, JOBS, headers=bearer(text)) == 401


async def test_an_expired_key_is_refused(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    text, _ = await stored_key(store, "ann", life=timedelta(seconds=-1))
    assert await status(client, JOBS, headers=bearer(text)) == 401


@pytest.mark.parametrize(
    ("scope", "request_line", "allowed"),
    [
        (Scope.READ, f"GET {JOBS}", True),
        (Scope.READ, f"POST {JOBS}", False),
        (Scope.READ, f"DELETE {JOBS}/00000000-0000-7000-8000-000000000000", False),
        (Scope.WRITE, f"POST {JOBS}", True),
        (Scope.WRITE, "GET /api/v1/audit", False),
        (Scope.WRITE, "GET /api/v1/audit/", False),
        (Scope.ADMIN, "GET /api/v1/audit", True),
        (Scope.ADMIN, f"POST {JOBS}", True),
    ],
)
async def test_a_key_allows_what_its_scope_says(
    client: aiohttp.ClientSession, store: SqliteStore, scope: Scope, request_line: str, allowed: bool
) -> None:
    method, path = request_line.split()
    text, _ = await stored_key(store, "ann", scope)
    body = JOB if method == "POST" else None
    async with client.request(method, path, json=body, headers=bearer(text)) as response:
        assert (response.status != 403) is allowed
        if not allowed:
            assert (await response.json(content_type=None))["error"] == "missing_scope"


async def test_probes_need_no_key(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    await stored_key(store, "ann")
    for path in ("/healthz", "/readyz"):
        assert await status(client, path) == 200
    assert await status(client, "/metrics") != 401


async def test_the_owner_header_must_agree_with_the_key(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    text, _ = await stored_key(store, "ann")
    async with client.get(JOBS, headers={**bearer(text), "X-User-ID": "bob"}) as response:
        assert response.status == 403
        assert (await response.json(content_type=None))["error"] == "foreign_owner"
    assert await status(client, JOBS, headers={**bearer(text), "X-User-ID": "ann"}) == 200


async def test_use_of_a_key_is_noted(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    text, key = await stored_key(store, "ann")
    assert await status(client, JOBS, headers=bearer(text)) == 200
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await store.keys.find(key.digest)
            assert found is not None
            if found.last_used_at is not None:
                return
            await asyncio.sleep(0.02)


async def test_too_many_requests_are_told_when_to_come_back(ports: ApiPorts) -> None:
    async with guarded(ports, Access(rate_per_second=1)) as client:
        assert await status(client, JOBS) == 200
        async with client.get(JOBS) as response:
            assert response.status == 429
            assert int(response.headers["Retry-After"]) >= 1
            assert (await response.json(content_type=None))["error"] == "rate_limited"
        assert await status(client, "/healthz") == 200


async def test_a_mounted_api_is_guarded_by_the_same_paths(ports: ApiPorts, store: SqliteStore) -> None:
    outer = FastAPI()
    outer.mount("/scheduler", create_app(ports))
    text, _ = await stored_key(store, "ann", Scope.WRITE)
    async with served(outer) as client:
        assert await status(client, "/scheduler/api/v1/jobs") == 401
        assert await status(client, "/scheduler/api/v1/jobs", headers=bearer(text)) == 200
        assert await status(client, "/scheduler/api/v1/audit", headers=bearer(text)) == 403
        assert await status(client, "/scheduler/healthz") == 200
