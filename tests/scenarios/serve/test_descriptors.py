"""A process with few descriptors, and who gets them."""

import asyncio
import resource
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.scenarios.serve.processes import PATIENCE, PLAIN, Running, embedded, mainspring

LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n" + PLAIN
HANDLERS = """
import resource
from mainspring import handler

@handler("limit.isolated", isolate=True)
def isolated():
    return resource.getrlimit(resource.RLIMIT_NOFILE)
"""
HELD = 105
COMMANDS = 51


async def ended(client: aiohttp.ClientSession, job: str) -> dict[str, Any]:
    """The only execution of a job, once it has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with client.get(f"/api/v1/executions/{job}") as response:
                execution: dict[str, Any] = await response.json()
            if execution["status"] not in ("PENDING", "RUNNING"):
                return execution
            await asyncio.sleep(0.1)


async def submitted(client: aiohttp.ClientSession, handler: str, payload: Any = None) -> str:
    async with client.post("/api/v1/jobs", json={"handler": handler, "payload": payload}) as response:
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


async def ready(running: Running) -> str:
    await running.line("session.opened", logger="mainspring.worker")
    return await running.url()


async def test_held_connections_starve_neither_probes_nor_the_worker(tmp_path: Path) -> None:
    program = LIMITED.format(soft=150, hard=150)
    async with mainspring(embedded(tmp_path), "serve", "--port", "0", program=program) as running:
        url = await ready(running)
        port = int(url.rpartition(":")[2])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(HELD)]
        for _, writer in held[::2]:
            writer.write(b"GET / HTTP/1.1\r\nHost: local")
        async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(force_close=True)) as client:
            command = {"command": "sleep", "args": ["0.5"]}
            jobs = [await submitted(client, "shell.command", command) for _ in range(COMMANDS)]
            for path in ("/healthz", "/readyz", "/metrics"):
                async with client.get(path) as response:
                    assert response.status == 200
            executions = [await ended(client, job) for job in jobs]
        for _, writer in held:
            writer.close()
    assert {(each["status"], each["attempt"]) for each in executions} == {("COMPLETED", 1)}
    assert (await running.line("connections.full"))["most"] == 150 // 5


@pytest.mark.parametrize("soft", [100, 1024])
async def test_a_process_raises_its_limit_and_gives_children_theirs_back(tmp_path: Path, soft: int) -> None:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    program = LIMITED.format(soft=soft, hard=4000)
    arguments = ("serve", "--port", "0", "--app", "handlers")
    async with (
        mainspring(embedded(tmp_path), *arguments, program=program) as running,
        aiohttp.ClientSession(await ready(running)) as client,
    ):
        assert resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE) == (4000, 4000)
        script = await ended(client, await submitted(client, "shell.script", f'test "$(ulimit -n)" = {soft}'))
        assert script["status"] == "COMPLETED", script
        isolated = await ended(client, await submitted(client, "limit.isolated"))
        assert isolated["result"] == [soft, 4000], isolated
