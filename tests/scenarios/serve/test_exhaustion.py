"""A real process without a file descriptor left: its jobs are charged nothing, and everybody is told."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp

from mainspring.domain.run import State
from tests.descriptors import no_descriptor_left
from tests.scenarios.kill.watching import until
from tests.scenarios.serve.processes import embedded, mainspring, stored
from tests.scenarios.serve.test_serve import found

JOBS = 8
LACK = "short of file descriptors"


async def test_shell_jobs_wait_for_descriptors_and_none_is_charged_for_their_lack(tmp_path: Path) -> None:
    place = embedded(tmp_path)
    # It looks for what dead neighbours left three times in so long, and can list no folder meanwhile.
    async with mainspring(place, "serve", "--port", "0", "--worker-ttl-seconds", "2") as running:
        await running.line("session.opened", logger="mainspring.worker")
        # One connection, kept open: there will be no descriptor for another.
        async with aiohttp.ClientSession(await running.url(), connector=aiohttp.TCPConnector(limit=1)) as client:

            async def get(path: str) -> Any:
                async with client.get(path) as response:
                    return await response.json()

            async def said() -> bool:
                return bool((await get("/api/v1/health"))["status"] == "degraded")

            await get("/api/v1/health")
            with no_descriptor_left(running.process.pid):
                jobs: list[UUID] = []
                for _ in range(JOBS):
                    async with client.post("/api/v1/jobs", json={"handler": "shell.script", "payload": "true"}) as made:
                        jobs.append(UUID((await made.json())["id"]))
                await running.line("worker.exhausted")
                await running.line("journals.unread")
                await until(said)
                [trouble] = (await get("/api/v1/health"))["troubles"]
                assert LACK in trouble["detail"]
                [worker] = (await get("/api/v1/workers"))["items"]
                assert worker["trouble"] == trouble["detail"]
                assert trouble["subject"] == f"worker {worker['id']}"
                async with client.get("/metrics") as response:
                    shortages = 'mainspring_shortages_total{lack="file descriptors"}'
                    [line] = [each for each in (await response.text()).splitlines() if each.startswith(shortages)]
                assert float(line.rpartition(" ")[2]) > 0

            async def ended() -> bool:
                async with stored(place) as store:
                    runs = [await store.views.run(job) for job in jobs]  # type: ignore[arg-type]  # a one-shot's run
                return all(run is not None and run.state.terminal for run in runs)

            await until(ended)
            await running.line("worker.recovered")
    runs = await asyncio.gather(*(found(place, job) for job in jobs))
    assert {(run.state, run.attempt, run.failures, run.losses) for run in runs} == {(State.SUCCEEDED, 1, 0, 0)}
