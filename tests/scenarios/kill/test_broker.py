"""Work by way of a broker, on one store: workers compete and are killed; the broker forgets, dies and comes back."""

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from mainspring.adapters.redis.broker import QUEUE, RECEIVER
from mainspring.domain.ids import RunId, new_job_id
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task
from mainspring.wiring.stores import Store
from servers.valkey import ValkeyServer
from tests.scenarios.kill.watching import diary, until, until_all_ended, until_noted
from tests.scenarios.serve.processes import PLAIN, WITHOUT_POLLS, Place, Running, mainspring, stored

RUNS = 400
# What is lost with a message costs a grace: here it is shorter, so that a test needn't wait for long.
BRIEF_GRACE = f"""
from datetime import timedelta
from mainspring.services import publishing
publishing.GRACE = timedelta(seconds=1)
{PLAIN}
"""
# A worker that dies with tickets in its hands, before the store has heard of it.
DYING = f"""
import os, signal
from mainspring.wiring.measuring import MeasuredTickets
async def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
MeasuredTickets.start = die
{WITHOUT_POLLS}
"""


@pytest.fixture
def place(place: Place) -> Place:
    shutil.copy(Path(__file__).with_name("diary.py"), place.folder / "diary.py")
    return place


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with stored(place) as opened:
        yield opened


def new_run(handler: str = "diary.note", priority: int = 50) -> NewRun:
    identifier = new_job_id(datetime.now(UTC), int.from_bytes(os.urandom(7), "big"))
    return NewRun(id=RunId(identifier), job_id=identifier, task=Task(handler=handler, priority=priority))


def worker(
    place: Place, name: str, redis: str, *more: str, program: str = PLAIN
) -> AbstractAsyncContextManager[Running]:
    own = ("--worker-name", name, "--work", redis)
    return mainspring(place, "worker", "--app", "diary", *own, *more, program=program)


def scheduler(place: Place, redis: str) -> AbstractAsyncContextManager[Running]:
    return mainspring(place, "scheduler", "--work", redis, program=BRIEF_GRACE)


async def until_they_wait(redis: str, workers: int) -> None:
    """Each worker has claimed once, as it does at its beginning, and waits for what the broker brings."""
    async with Redis.from_url(redis, decode_responses=True) as client:

        async def waiting() -> bool:
            clients = await client.client_list()
            return sum(each["name"] == RECEIVER and "b" in each["flags"] for each in clients) == workers

        await until(waiting)


async def until_queued(redis: str, count: int) -> None:
    """What `redis-cli ZCARD job_scheduler:queue` says."""
    async with Redis.from_url(redis) as client:

        async def queued() -> bool:
            return bool(await client.zcard(QUEUE) == count)

        await until(queued)


async def test_workers_compete_for_what_the_broker_brings_and_each_run_is_executed_once(
    store: Store, place: Place, redis_url: str
) -> None:
    """S3-03, 05; S4-12. These workers don't poll: all that they execute has come through the broker."""
    async with (
        worker(place, "one", redis_url, program=WITHOUT_POLLS),
        worker(place, "two", redis_url, program=WITHOUT_POLLS),
        worker(place, "three", redis_url, program=WITHOUT_POLLS),
    ):
        await until_they_wait(redis_url, 3)
        async with scheduler(place, redis_url):
            runs = [new_run() for _ in range(RUNS)]
            await store.work.add(runs)
            await until_all_ended(store, [run.id for run in runs])
    assert Counter(diary(place.folder)) == Counter(str(run.id) for run in runs)
    workers = {run.worker for each in runs if (run := await store.views.run(each.id)) is not None}
    assert len(workers) > 1


async def test_what_is_most_urgent_goes_first(store: Store, place: Place, redis_url: str) -> None:
    """S4-05, 80, 86."""
    async with (
        worker(place, "one", redis_url, "--concurrency", "1", program=WITHOUT_POLLS),
        scheduler(place, redis_url),
    ):
        await until_they_wait(redis_url, 1)
        await store.work.add([new_run("diary.wait")])
        await until_noted(place.folder, 1)
        runs = {priority: new_run(priority=priority) for priority in (10, 90, 50)}
        await store.work.add([*runs.values()])
        await until_queued(redis_url, 3)
        (place.folder / "gate").touch()
        await until_all_ended(store, [run.id for run in runs.values()])
    assert diary(place.folder)[1:] == [str(runs[priority].id) for priority in (90, 50, 10)]
    await until_queued(redis_url, 0)


async def test_a_worker_killed_between_message_and_store_costs_its_runs_only_time(
    store: Store, place: Place, redis_url: str
) -> None:
    runs = [new_run() for _ in range(20)]
    async with scheduler(place, redis_url):
        async with worker(place, "first", redis_url, program=DYING) as first:
            await until_they_wait(redis_url, 1)
            await store.work.add(runs)
            await first.ended()
        assert not diary(place.folder)
        async with worker(place, "second", redis_url):
            await until_all_ended(store, [run.id for run in runs])
    assert Counter(diary(place.folder)) == Counter(str(run.id) for run in runs)


async def test_a_broker_that_forgets_dies_and_comes_back_loses_nothing_and_repeats_nothing(
    store: Store, place: Place, valkey_server: ValkeyServer
) -> None:
    url = valkey_server.url()
    runs: list[NewRun] = []

    async def add_and_wait() -> None:
        fresh = [new_run() for _ in range(RUNS // 4)]
        runs.extend(fresh)
        await store.work.add(fresh)
        await until_noted(place.folder, len(runs) - len(fresh) // 2)

    async with (
        worker(place, "one", url, "--concurrency", "2") as one,
        worker(place, "two", url, "--concurrency", "2") as two,
        scheduler(place, url),
    ):
        await add_and_wait()
        async with Redis.from_url(url) as client:
            await client.flushall()
        await add_and_wait()
        await asyncio.to_thread(valkey_server.kill)
        for each in (one, two):
            await each.line("broker.lost")
        await add_and_wait()
        await asyncio.to_thread(valkey_server.start)
        for each in (one, two):
            await each.line("broker.found")
        await add_and_wait()
        await until_all_ended(store, [run.id for run in runs])
    assert Counter(diary(place.folder)) == Counter(str(run.id) for run in runs)


async def test_what_the_api_takes_needs_no_scheduler_to_reach_a_worker(place: Place, redis_url: str) -> None:
    async with (
        mainspring(place, "api", "--port", "0", "--work", redis_url) as api,
        worker(place, "one", redis_url, program=WITHOUT_POLLS),
    ):
        await until_they_wait(redis_url, 1)
        async with httpx.AsyncClient(base_url=await api.url()) as client:
            answer = await client.post("/api/v1/jobs", json={"handler": "diary.note", "payload": None})
            assert answer.status_code == 201
            await until_noted(place.folder, 1)
            metrics = (await client.get("/metrics")).text
    assert 'mainspring_tickets_total{event="published"} 1' in metrics
