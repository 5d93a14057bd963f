"""Shell handlers beside a store that others share: off unless a worker's settings say otherwise."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from mainspring.domain.ids import RunId
from mainspring.domain.run import Run, State
from tests.scenarios.serve.processes import PATIENCE, Place, Running, mainspring, stored

SHELL = {"handler": "shell.command", "payload": {"command": "true"}}
SENTENCE = "shell handlers are off on every live worker; MAINSPRING_ALLOW_SHELL=1 turns them on"


@pytest.fixture
def place(tmp_path: Path, postgres_url: str) -> Place:
    return Place(tmp_path, postgres_url)


async def submitted(running: Running, **fields: Any) -> tuple[int, Any]:
    url = await running.url()
    async with aiohttp.ClientSession(url) as client, client.post("/api/v1/jobs", json={**SHELL, **fields}) as response:
        return response.status, await response.json()


async def until(place: Place, job: str, state: State) -> Run:
    async with stored(place) as store, asyncio.timeout(PATIENCE):
        while True:
            run = await store.views.run(RunId(UUID(job)))
            if run is not None and run.state is state and (run.reason is not None or state is not State.WAITING):
                return run
            await asyncio.sleep(0.05)  # what another process does to a row wakes nobody here


async def test_a_command_that_no_worker_may_run_is_refused_until_one_may(place: Place) -> None:
    async with mainspring(place, "serve", "--port", "0") as everything:
        await everything.line("session.opened", logger="mainspring.worker")
        status, problem = await submitted(everything)
        assert (status, problem["error"], problem["detail"]) == (422, "handler_off", SENTENCE)
        async with mainspring(place, "worker", "--allow-shell", "--worker-name", "able") as able:
            await able.line("session.opened", logger="mainspring.worker")
            status, job = await submitted(everything)
            assert status == 201
            run = await until(place, job["id"], State.SUCCEEDED)
            assert (run.worker, run.attempt, run.failures) == ("able", 1, 0), "the other one handed it back, uncharged"


async def test_a_command_that_was_accepted_before_waits_for_a_worker_that_may_run_it(place: Place) -> None:
    async with mainspring(place, "api", "--port", "0") as api:
        status, job = await submitted(api, key="k")
        assert status == 201, "without workers nobody knows what they will run"
        async with mainspring(place, "worker", "--worker-name", "unable"):
            run = await until(place, job["id"], State.WAITING)
            assert run.reason == SENTENCE.replace("every live worker", "this worker")
            assert (run.attempt, run.failures) == (0, 0)
            assert run.wake_at is not None
            async with stored(place) as store:
                assert run.wake_at - await store.views.now() < timedelta(seconds=5)
            assert (await submitted(api, key="other"))[0] == 422
            status, again = await submitted(api, key="k")
            assert (status, again.get("id")) == (200, job["id"]), "what is repeated gets its answer"
        async with mainspring(place, "worker", "--worker-name", "able", "--allow-shell"):
            assert (await until(place, job["id"], State.SUCCEEDED)).worker == "able"
