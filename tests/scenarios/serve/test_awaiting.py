"""Processes that are started before their store: they stay, say what they wait for, and go on once it is there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from servers.ports import free_port
from servers.postgres import PostgresServer
from tests.scenarios.serve.processes import PATIENCE, Place, Running, mainspring


@asynccontextmanager
async def client_of(running: Running) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(await running.url()) as client:
        yield client


async def answered(client: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as response:
        return response.status, await response.text()


async def until_ready(client: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(PATIENCE):
        while await answered(client, "/readyz") != (200, "READY"):  # noqa: ASYNC110 - another process's event
            await asyncio.sleep(0.05)


def nobody_there() -> str:
    return f"postgresql://me:hunter2@127.0.0.1:{free_port()}/jobs"


async def test_a_process_is_ready_by_itself_once_its_store_has_started(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    place = Place(tmp_path, postgres_server.url())
    await asyncio.to_thread(postgres_server.stop)
    async with mainspring(place, "serve", "--port", "0") as running, client_of(running) as client:
        awaited = await running.line("store.awaited", level="warning")
        assert "didn't answer" in awaited["reason"]
        assert await answered(client, "/healthz") == (503, awaited["reason"])
        assert await answered(client, "/readyz") == (503, f"NOT READY: {awaited['reason']}")
        async with client.get("/api/v1/health", headers={"Host": "attacker.example"}) as response:
            assert (response.status, (await response.json())["error"]) == (403, "foreign_host")
        assert "mainspring_store_up 0" in (await answered(client, "/metrics"))[1]
        async with client.post("/api/v1/jobs", json={"handler": "test.echo"}) as response:
            assert (response.status, response.content_type) == (503, "application/problem+json")
            assert response.headers["Retry-After"] == "1"
            assert (await response.json())["error"] == "store_unavailable"
        await asyncio.to_thread(postgres_server.start)
        await until_ready(client)
        await running.line("store.there")
        async with client.post("/api/v1/jobs", json={"handler": "test.log", "payload": {"message": "hi"}}) as response:
            assert response.status == 201
        await running.line("test.log", message="hi")
        running.terminate()
        assert await running.ended() == 0


@pytest.mark.parametrize("role", ["api", "scheduler", "worker"])
async def test_every_role_waits_and_a_signal_ends_it(role: str, tmp_path: Path) -> None:
    async with mainspring(Place(tmp_path, nobody_there()), role, "--port", "0") as running:
        await running.line("store.awaited")
        async with client_of(running) as client:
            assert (await answered(client, "/readyz"))[0] == 503
        running.terminate()
        assert await running.ended() == 0


async def test_one_that_does_not_listen_waits_for_a_name_that_is_not_known_yet(tmp_path: Path) -> None:
    async with mainspring(Place(tmp_path, "postgresql://me@nowhere.invalid/jobs"), "worker") as running:
        assert "hunter2" not in str(await running.line("store.awaited"))
        running.terminate()
        assert await running.ended() == 0


async def test_a_signal_ends_a_process_whose_store_accepts_and_says_nothing(tmp_path: Path) -> None:
    asked: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    silent = await asyncio.start_server(lambda _, writer: asked.put_nowait(writer), "127.0.0.1", 0)
    url = f"postgresql://me@127.0.0.1:{silent.sockets[0].getsockname()[1]}/jobs"
    async with silent, mainspring(Place(tmp_path, url), "worker") as running:
        async with asyncio.timeout(PATIENCE):
            connection = await asked.get()
        running.terminate()
        assert await running.ended() == 0
        connection.close()


async def test_a_wrong_password_is_told_at_once(tmp_path: Path, postgres_url: str) -> None:
    parts = urlsplit(postgres_url)
    wrong = parts._replace(netloc=f"{parts.username}:wrong@{parts.hostname}:{parts.port}").geturl()
    async with mainspring(Place(tmp_path, wrong), "serve", "--port", "0") as running:
        assert await running.ended() == 2
        refusal = await running.line("not a log line")
    assert "check user, password and database" in refusal["text"]
