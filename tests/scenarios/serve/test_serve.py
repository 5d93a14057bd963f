import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp

from mainspring.adapters.files.signals import FileSignals
from mainspring.domain.ids import RunId
from mainspring.domain.run import Run, State
from mainspring.ports.signals import TIMETABLE
from tests.scenarios.serve.processes import PATIENCE, WITHOUT_POLLS, Place, Running, embedded, mainspring, stored

HANDLERS = """
import asyncio
import structlog
from mainspring import handler

log = structlog.get_logger("handlers")

@handler("slow.endless")
async def endless():
    log.info("slow.began")
    await asyncio.Event().wait()

@handler("slow.gated")
def gated(pipe):
    log.info("slow.began")
    open(pipe).read()
    return "through the gate"
"""


async def post(running: Running, **job: Any) -> UUID:
    url = await running.url()
    async with aiohttp.ClientSession(url) as client, client.post("/api/v1/jobs", json=job) as response:
        assert response.status == 201, await response.text()
        return UUID((await response.json())["id"])


async def logged(running: Running, message: str, **job: Any) -> UUID:
    return await post(running, handler="test.log", payload={"message": message}, **job)


async def found(place: Place, job: UUID) -> Run:
    async with stored(place) as store:
        run = await store.views.run(RunId(job))
    assert run is not None
    return run


async def test_one_process_takes_a_job_runs_it_and_ends_in_order(place: Place) -> None:
    async with mainspring(place, "serve", "--port", "0", "--port", "0") as running:
        job = await logged(running, "it runs")
        await running.line("test.log", message="it runs")
        async with aiohttp.ClientSession(await running.url()) as client:
            for path in ("/", "/healthz", "/readyz", "/api/v1/health", "/api/v1/workers"):
                async with client.get(path) as response:
                    assert response.status == 200, path
        running.terminate()
        assert await running.ended() == 0
    assert (await found(place, job)).state is State.SUCCEEDED


async def test_a_schedule_that_may_not_be_late_fires_all_the_same(place: Place) -> None:
    strict = {"schedule": "* * * * * *", "misfire": {"grace_ms": 0, "policy": "none"}}
    async with mainspring(place, "serve", "--port", "0") as running:
        for overlap in ("allow", "wait"):
            await logged(running, overlap, overlap=overlap, **strict)
        for overlap in ("allow", "wait"):
            await running.line("test.log", message=overlap)


async def test_variables_of_others_keep_no_process_from_starting(tmp_path: Path) -> None:
    """As in a pod beside a service called mainspring, with a variable that this version doesn't serve."""
    variables = {
        "MAINSPRING_PORT": "tcp://10.0.0.1:8080",
        "MAINSPRING_SERVICE_HOST": "10.0.0.1",
        "KAFKA_BROKERS": "k:9",
    }
    async with mainspring(embedded(tmp_path), "scheduler", variables=variables) as running:
        await running.line("settings.not_served", variables=["KAFKA_BROKERS"], level="warning")
        await running.line("process.started")


async def test_a_job_that_outlasts_the_drain_is_handed_back_uncharged(place: Place) -> None:
    (place.folder / "handlers.py").write_text(HANDLERS)
    arguments = ("serve", "--port", "0", "--app", "handlers", "--drain-seconds", "0.1")
    async with mainspring(place, *arguments) as running:
        await running.line("session.opened", logger="mainspring.worker")
        job = await post(running, handler="slow.endless")
        await running.line("slow.began")
        running.terminate()
        assert await running.ended() == 0
    run = await found(place, job)
    assert (run.state, run.attempt, run.failures, run.losses) == (State.WAITING, 0, 0, 0)


async def test_a_job_that_ends_within_the_drain_counts(tmp_path: Path) -> None:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with mainspring(embedded(tmp_path), "serve", "--port", "0", "--app", "handlers") as running:
        await running.line("session.opened", logger="mainspring.worker")
        job = await post(running, handler="slow.gated", payload=str(gate))
        await running.line("slow.began")
        running.terminate()
        text = "waiting up to 30 s for 1 execution; a second signal ends it now"
        await running.line("process.stopping", signal="SIGTERM", text=text)
        await running.line("drain.began")
        await asyncio.to_thread(gate.write_text, "open")
        assert await running.ended() == 0
        await running.line("process.stopped", exit_code=0)
    run = await found(embedded(tmp_path), job)
    assert (run.state, run.result) == (State.SUCCEEDED, b'"through the gate"')


async def test_a_second_signal_ends_the_drain_at_once(tmp_path: Path) -> None:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    arguments = ("serve", "--port", "0", "--app", "handlers", "--drain-seconds", "3600")
    async with mainspring(embedded(tmp_path), *arguments) as running:
        await running.line("session.opened", logger="mainspring.worker")
        job = await post(running, handler="slow.endless")
        await running.line("slow.began")
        running.terminate()
        await running.line("drain.began")
        running.terminate()
        await running.line("process.hurrying", signal="SIGTERM")
        assert await running.ended() == 128 + 15
        await running.line("process.stopped", exit_code=128 + 15)
    run = await found(embedded(tmp_path), job)
    assert (run.state, run.attempt) == (State.WAITING, 0)


async def test_processes_on_one_store_wake_each_other(place: Place) -> None:
    async with (
        mainspring(place, "api", "--port", "0") as api,
        mainspring(place, "worker", program=WITHOUT_POLLS) as worker,
    ):
        await worker.line("session.opened")
        for number in range(3):
            await logged(api, f"at once {number}")
            await worker.line("test.log", message=f"at once {number}")
        async with mainspring(place, "scheduler") as scheduler:
            await scheduler.line("session.opened")
            await logged(api, "on time", schedule="@every 1s")
            await worker.line("test.log", message="on time")
            for each in (scheduler, worker, api):
                each.terminate()
                assert await each.ended() == 0


async def test_the_api_wakes_the_planner(tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "api", "--port", "0") as api:
        await api.url()
        signals = await FileSignals.open(tmp_path / "data" / "signals")
        try:
            await logged(api, "on demand", schedule="on-demand")
            assert await signals.wait([TIMETABLE], timedelta(seconds=PATIENCE)) is True
        finally:
            await signals.close()


async def test_a_role_without_the_api_answers_probes_where_it_is_told_to(tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "scheduler", "--port", "0") as scheduler:
        await scheduler.line("session.opened")
        async with aiohttp.ClientSession(await scheduler.url()) as client:
            for path, text in (("/healthz", "OK"), ("/readyz", "READY")):
                async with client.get(path) as response:
                    assert await response.text() == text
        scheduler.terminate()
        assert await scheduler.ended() == 0


async def test_workers_on_one_host_get_names_of_their_own(tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "worker") as first:
        name = (await first.line("session.opened"))["worker"]
        async with mainspring(embedded(tmp_path), "worker") as second:
            assert (await second.line("session.opened"))["worker"] == f"{name}-2"
        async with mainspring(embedded(tmp_path), "worker", "--worker-name", name) as third:
            assert await third.ended() == 2


async def test_samples_are_there_to_look_at(tmp_path: Path) -> None:
    async with mainspring(embedded(tmp_path), "serve", "--port", "0", "--samples") as running:
        await running.line("test.log", message="First in the queue")
        async with aiohttp.ClientSession(await running.url()) as client, client.get("/api/v1/jobs") as response:
            assert "weekday mornings" in await response.text()


async def test_every_run_is_told_of_to_whoever_wants_to_read_that(tmp_path: Path) -> None:
    """S3-31."""
    place = embedded(tmp_path)
    async with mainspring(place, "serve", "--port", "0", "--log-level", "debug") as running:
        job = str(await post(running, handler="test.echo", payload="hello"))
        began = await running.line("run.began", job=job, handler="test.echo")
        ended = await running.line("run.ended", job=job, outcome="succeeded")
        assert (began["run"], began["token"]) == (ended["run"], ended["token"])


async def test_a_server_answers_to_the_names_that_it_was_told(tmp_path: Path) -> None:
    arguments = ("serve", "--port", "0", "--allow-host", "jobs.example.org")
    async with mainspring(embedded(tmp_path), *arguments) as running:
        async with aiohttp.ClientSession(await running.url()) as client:
            statuses = []
            for host in ("jobs.example.org", "localhost", "attacker.example"):
                async with client.get("/api/v1/jobs", headers={"Host": host}) as response:
                    statuses.append(response.status)
        assert statuses == [200, 200, 403]
