"""A disk that is full: every probe says so, and says that it is over without anybody's submission."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from servers.postgres import PostgresServer
from tests.scenarios.kill.watching import until
from tests.scenarios.serve.processes import Place, Running, embedded, mainspring, stored

PAYLOAD = "x" * 30_000


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    """A file system with little room at *folder*."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can't be mounted here: that needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


async def enlarge(folder: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["mount", "-o", "remount,size=256m", str(folder)], check=True)


class Served:
    """A process, and what it answers."""

    def __init__(self, running: Running, client: aiohttp.ClientSession) -> None:
        self.running = running
        self._client = client

    async def get(self, path: str) -> tuple[int, str]:
        async with self._client.get(path) as response:
            return response.status, await response.text()

    async def health(self) -> dict[str, Any]:
        async with self._client.get("/api/v1/health") as response:
            body: dict[str, Any] = await response.json()
            return body

    async def submit(self, number: int) -> int:
        # Incompressible, or a server would make little of it.
        job = {"handler": "test.log", "schedule": "2040-01-01T00:00:00Z", "payload": os.urandom(15_000).hex()}
        async with self._client.post("/api/v1/jobs", json={**job, "name": str(number)}) as response:
            return response.status

    async def ready(self) -> bool:
        return await self.get("/readyz") == (200, "READY")


@asynccontextmanager
async def served(place: Place, role: str) -> AsyncIterator[Served]:
    async with mainspring(place, role, "--port", "0") as running, AsyncExitStack() as closing:
        server = Served(running, await closing.enter_async_context(aiohttp.ClientSession(await running.url())))
        await until(server.ready)
        yield server


async def fill(server: Served) -> None:
    """Submit until a submission is refused."""
    number = 0
    while (status := await server.submit(number)) == 201:
        number += 1
    assert status == 503
    assert number, "some were accepted"


async def check_that_the_probes_tell(server: Served) -> None:
    status, text = await server.get("/readyz")
    assert (status, "has no space left" in text) == (503, True)
    assert await server.get("/healthz") == (200, "OK")
    health = await server.health()
    assert (health["status"], health["troubles"][0]["subject"]) == ("degraded", "store")
    assert "has no space left" in health["troubles"][0]["detail"]
    await server.running.line("store.full")


async def check_that_it_is_over(server: Served) -> None:
    """Found out by the process itself: nobody submits anything to one that isn't ready."""
    await until(server.ready)
    await server.running.line("store.has_room")
    assert (await server.health())["status"] == "healthy"
    assert await server.submit(0) == 201


@pytest.mark.parametrize("role", ["serve", "api"])
async def test_an_embedded_store_on_a_full_disk_is_not_ready_until_there_is_room(tmp_path: Path, role: str) -> None:
    (tmp_path / "data").mkdir()
    with mounted(tmp_path / "data", "12m"):
        async with served(embedded(tmp_path), role) as server:
            await fill(server)
            await check_that_the_probes_tell(server)
            await enlarge(tmp_path / "data")
            await check_that_it_is_over(server)


async def test_a_database_on_a_full_disk_is_not_ready_until_there_is_room(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    place = Place(tmp_path, postgres_server.url())
    folder = postgres_server.folder.path / "small"
    folder.mkdir()
    with mounted(folder, "6m"):
        tables = folder / "tables"
        tables.mkdir(mode=0o700)
        owner = postgres_server.folder.data.stat()
        os.chown(tables, owner.st_uid, owner.st_gid)
        async with stored(place):
            pass
        with psycopg.connect(place.store, autocommit=True) as administrator:
            administrator.execute(f"CREATE TABLESPACE small LOCATION '{tables}'")
            for table in ("queue", "blob"):
                administrator.execute(f"ALTER TABLE mainspring.{table} SET TABLESPACE small")
        async with served(place, "api") as server:
            await fill(server)
            await check_that_the_probes_tell(server)
            await enlarge(folder)
            await check_that_it_is_over(server)
