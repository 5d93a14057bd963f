from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import AsyncMock

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app, create_probes
from mainspring.api.ports import ApiPorts
from mainspring.errors import StoreUnavailable
from mainspring.ports.pipes import Pipe
from mainspring.ports.sessions import News
from mainspring.testing.factories import a_session
from tests.api.calling import Api, calling
from tests.api.serving import served


async def test_all_is_well(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    await store.sessions.open(a_session("worker-7", capacity=4))
    async with client.get("/api/v1/health") as response:
        body = await response.json()
    assert response.status == 200
    assert (body["status"], body["database"]["status"], body["queue"]["running"]) == ("healthy", "up", 0)
    assert body["workers"] == 1
    async with client.get("/api/v1/workers") as response:
        [worker] = (await response.json())["items"]
    assert (worker["id"], worker["capacity"], worker["executing"]) == ("worker-7", 4, 0)


@pytest.mark.parametrize(("path", "text"), [("/healthz", "OK"), ("/readyz", "READY")])
async def test_probes_answer_in_plain_text(client: aiohttp.ClientSession, path: str, text: str) -> None:
    async with client.get(path) as response:
        assert (response.status, await response.text(), response.content_type) == (200, text, "text/plain")


async def test_without_its_store_nothing_is_well(ports: ApiPorts) -> None:
    views = AsyncMock()
    views.now.side_effect = views.job.side_effect = StoreUnavailable("the disk is busy")
    async with served(create_app(replace(ports, views=views))) as client:
        for path in ("/healthz", "/api/v1/health"):
            async with client.get(path) as response:
                assert response.status == 503
                assert "the disk is busy" in await response.text()
        async with client.get("/api/v1/jobs/00000000-0000-7000-8000-000000000000") as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "1")
            assert (await response.json(content_type=None))["error"] == "store_unavailable"


async def test_what_stands_beside_the_store_is_told_while_the_store_is_away_too(ports: ApiPorts) -> None:
    since = datetime(2030, 1, 31, 9, tzinfo=UTC)
    pipes = [
        Pipe(purpose="signals", url="redis://host:6379/0", connected=True, since=since),
        Pipe(purpose="members", url="redis://other:6379/0", connected=False, since=since, error="it is gone"),
    ]
    told: list[dict[str, str | None]] = [
        {"purpose": "signals", "url": "redis://host:6379/0", "status": "up", "detail": None},
        {"purpose": "members", "url": "redis://other:6379/0", "status": "down", "detail": "it is gone"},
    ]
    views = AsyncMock()
    views.now.side_effect = StoreUnavailable("the disk is busy")
    for each, status in ((ports, 200), (replace(ports, views=views), 503)):
        async with calling(create_app(replace(each, pipes=lambda: pipes))) as api:
            health = await api.get("/api/v1/health", status)
        assert health["pipes"] == [{**pipe, "since": "2030-01-31T09:00:00Z"} for pipe in told]


async def test_by_default_nothing_stands_beside_the_store(api: Api) -> None:
    assert (await api.get("/api/v1/health"))["pipes"] == []


async def test_a_role_without_the_api_shows_its_probes_only(ports: ApiPorts) -> None:
    async with served(create_probes(replace(ports, ready=lambda: False))) as client:
        async with client.get("/readyz") as response:
            assert (response.status, await response.text()) == (503, "NOT READY")
        async with client.get("/healthz") as response:
            assert response.status == 200
        async with client.get("/api/v1/jobs") as response:
            assert response.status == 404


async def test_what_nobody_expected_is_a_problem_without_details(ports: ApiPorts) -> None:
    views = AsyncMock()
    views.job.side_effect = ZeroDivisionError("secret")
    path = "/api/v1/jobs/00000000-0000-7000-8000-000000000000"
    async with served(create_app(replace(ports, views=views))) as client, client.get(path) as response:
        assert response.status == 500
        assert "secret" not in await response.text()


async def test_a_full_store_is_told_by_all_but_the_probe_of_life(ports: ApiPorts) -> None:
    reason = "mainspring.db has no space left; nothing was stored"
    async with served(create_app(replace(ports, full=lambda: reason))) as client:
        async with client.get("/healthz") as response:
            assert (response.status, await response.text()) == (200, "OK")
        async with client.get("/readyz") as response:
            assert (response.status, await response.text()) == (503, f"NOT READY: {reason}")
        async with client.get("/api/v1/health") as response:
            health = await response.json()
    assert (response.status, health["status"], health["database"]["status"]) == (200, "degraded", "up")
    assert health["troubles"] == [{"subject": "store", "detail": reason}]


async def test_what_a_worker_lacks_is_told_as_long_as_it_says_so(api: Api, store: SqliteStore) -> None:
    session = await store.sessions.open(a_session("worker-7"))
    lack = "this process is short of memory: Cannot allocate memory"
    for trouble, status in ((lack, "degraded"), (None, "healthy")):
        await store.sessions.beat(session, News(trouble=trouble))
        health = await api.get("/api/v1/health")
        assert (health["status"], bool(health["troubles"])) == (status, trouble is not None)
        [worker] = (await api.get("/api/v1/workers"))["items"]
        assert worker["trouble"] == trouble


async def test_an_api_without_room_for_connections_is_degraded(ports: ApiPorts) -> None:
    async with calling(create_app(replace(ports, crowded=lambda: "no more than 10 connections"))) as api:
        health = await api.get("/api/v1/health")
    assert health["status"] == "degraded"
    assert health["troubles"] == [{"subject": "API", "detail": "no more than 10 connections"}]
