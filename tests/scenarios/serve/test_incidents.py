"""What goes wrong with executions is in the log of the processes, at the level that everybody has."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from mainspring.wiring.incidents import LINES
from tests.scenarios.serve.processes import PATIENCE, Place, Running, embedded, mainspring

HANDLERS = """
import os, signal
from mainspring import handler

@handler("always.failing")
def failing(payload):
    raise ValueError("no luck with https://me:hunter2@example.org")

@handler("always.deadly")
def deadly(payload):
    os.kill(os.getpid(), signal.SIGKILL)
"""
APP = ("--app", "handlers")
SECRET = "hunter2"  # noqa: S105 - an example


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    return embedded(tmp_path)


async def submitted(running: Running, handler: str, count: int = 1, retries: int = 0) -> list[str]:
    retry = {"kind": "fixed", "initial_ms": 1}
    job = {"handler": handler, "payload": SECRET, "max_retries": retries, "retry": retry}
    async with (
        aiohttp.ClientSession(await running.url()) as client,
        client.post("/api/v1/jobs/batch", json={"jobs": [job] * count}) as response,
    ):
        assert response.status == 201, await response.text()
        return [item["id"] for item in (await response.json())["items"]]


async def test_a_retry_and_a_dead_letter_are_a_line_each(place: Place) -> None:
    async with mainspring(place, "serve", "--port", "0", *APP) as running:
        [job] = await submitted(running, "always.failing", retries=1)
        retried = await running.line("attempt.failed", handler="always.failing", execution=job)
        dead = await running.line("execution.failed", handler="always.failing", execution=job)
        assert (retried["attempt"], retried["error"]) == (1, "ValueError: no luck with https://example.org")
        assert (dead["attempt"], dead["reason"]) == (2, "retries exhausted")
        assert not [line for line in running.lines if SECRET in str(line)]


async def test_a_storm_of_failures_is_a_few_lines_and_their_number(place: Place) -> None:
    count = 10 * LINES
    async with mainspring(place, "serve", "--port", "0", *APP) as running:
        await submitted(running, "always.failing", count)
        async with aiohttp.ClientSession(await running.url()) as client, asyncio.timeout(PATIENCE):
            failed = 0
            while failed < count:
                async with client.get("/api/v1/metrics") as response:
                    failed = (await response.json())["totals"]["failed"]
        running.terminate()
        assert await running.ended() == 0
        left_out = [line["count"] for line in running.lines if line["event"] == "lines.left_out"]
        written = [line for line in running.lines if line["event"] == "execution.failed"]
        assert len(written) + sum(left_out) == count
        assert len(written) < count


async def test_an_attempt_that_is_lost_with_its_worker_is_a_line_of_whoever_rescues_it(place: Place) -> None:
    async with (
        mainspring(place, "serve", "--port", "0") as rescuing,
        mainspring(place, "worker", "--worker-ttl-seconds", "1", *APP) as worker,
    ):
        await worker.line("session.opened")
        [job] = await submitted(rescuing, "always.deadly")
        lost = await rescuing.line("attempt.lost", execution=job)
        assert (lost["handler"], lost["attempt"]) == ("always.deadly", 1)
