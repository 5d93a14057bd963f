"""Each process tells what happened in it; the API tells what happened anywhere."""

import asyncio
from pathlib import Path

import aiohttp

from tests.api.collecting import Read, read
from tests.scenarios.serve.processes import PATIENCE, Running, embedded, mainspring
from tests.scenarios.serve.test_serve import logged


async def scraped(running: Running) -> dict[str, Read]:
    async with aiohttp.ClientSession(await running.url()) as client, client.get("/metrics") as response:
        assert response.status == 200
        return read(await response.text(), openmetrics=False)


async def completed(running: Running) -> dict[str, Read]:
    """The families of the API once a job has ended: the store hears of it shortly after the handler."""
    async with asyncio.timeout(PATIENCE):
        while True:
            families = await scraped(running)
            if families["jobs_completed_total"].value("jobs_completed_total", status="success"):
                return families
            await asyncio.sleep(0.01)


async def ready(running: Running) -> None:
    async with aiohttp.ClientSession(await running.url()) as client, asyncio.timeout(PATIENCE):
        for path in ("/healthz", "/readyz"):
            while not await answers(client, path):  # noqa: ASYNC110 - another process is waited for
                await asyncio.sleep(0.01)


async def answers(client: aiohttp.ClientSession, path: str) -> bool:
    async with client.get(path) as response:
        return response.status == 200


async def test_a_worker_on_its_own_port_measures_and_the_api_shows_the_totals(tmp_path: Path) -> None:
    place = embedded(tmp_path)
    async with (
        mainspring(place, "api", "--port", "0") as api,
        mainspring(place, "worker", "--port", "0") as worker,
        mainspring(place, "scheduler", "--port", "0") as scheduler,
    ):
        await logged(api, "it runs")
        await worker.line("test.log", message="it runs")
        everywhere = await completed(api)
        there, elsewhere = await scraped(worker), await scraped(scheduler)
        await ready(worker)
        await ready(scheduler)
    assert there["job_duration_seconds"].value("job_duration_seconds_count") == 1
    assert there["mainspring_attempts_total"].value(
        "mainspring_attempts_total", handler="test.log", outcome="succeeded"
    )
    assert "jobs_completed_total" not in there
    assert everywhere["job_duration_seconds"].value("job_duration_seconds_count") == 0
    assert everywhere["job_queue_wait_seconds"].value("job_queue_wait_seconds_count") == 1
    assert everywhere["active_workers_total"].value("active_workers_total") == 1
    assert elsewhere["job_duration_seconds"].value("job_duration_seconds_count") == 0
