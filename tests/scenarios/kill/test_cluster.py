"""A whole cluster on one PostgreSQL: two of everything but the server, and some of it killed under load."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from mainspring.domain.ids import JobId
from mainspring.domain.run import Run, State
from mainspring.ports.views import Cursor, RunFilter
from mainspring.wiring.stores import Store
from tests.scenarios.kill.watching import diary, journalled, until, until_noted
from tests.scenarios.serve.processes import Place, Running, mainspring, stored

RUNS = 2_000
BATCH = 200
WORKERS = ("red", "green", "blue")
# A worker that is killed is started again at once, and is to find its runs untouched.
COMES_BACK = ("--worker-ttl-seconds", "120")
DIES = ("--scheduler-ttl-seconds", "2")


@pytest.fixture
def place(postgres_url: str, tmp_path: Path) -> Place:
    shutil.copy(Path(__file__).with_name("diary.py"), tmp_path / "diary.py")
    return Place(tmp_path, postgres_url)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with stored(place) as opened:
        yield opened


def worker(place: Place, name: str) -> AbstractAsyncContextManager[Running]:
    return mainspring(place, "worker", "--app", "diary", "--worker-name", name, *COMES_BACK)


def scheduler(place: Place, name: str) -> AbstractAsyncContextManager[Running]:
    return mainspring(place, "scheduler", "--scheduler-name", name, *DIES)


async def post(url: str, path: str, body: Any) -> Any:
    async with aiohttp.ClientSession(url) as client, client.post(f"/api/v1/{path}", json=body) as response:
        assert response.status == 201, await response.text()
        return await response.json()


async def submitted(urls: Sequence[str]) -> list[str]:
    """The ids of runs that were given to all servers at once."""
    batches = [{"jobs": [{"handler": "diary.note"}] * BATCH}] * (RUNS // BATCH)
    posts = [post(urls[number % len(urls)], "jobs/batch", batch) for number, batch in enumerate(batches)]
    return [item["id"] for answer in await asyncio.gather(*posts) for item in answer["items"]]


async def runs_of(store: Store, job: UUID) -> Sequence[Run]:
    return (await store.views.runs(RunFilter(job_id=JobId(job)), Cursor(limit=100))).items


async def test_a_cluster_under_load_survives_the_death_of_a_worker_and_of_a_scheduler(
    place: Place, store: Store
) -> None:
    async with AsyncExitStack() as running:
        start = running.enter_async_context
        servers = [await start(mainspring(place, "api", "--port", "0")) for _ in range(2)]
        leader, _ = [await start(scheduler(place, name)) for name in ("one", "other")]
        workers = {name: await start(worker(place, name)) for name in WORKERS}
        urls = [await server.url() for server in servers]
        for each in (leader, *workers.values()):
            await each.line("session.opened")

        clock = UUID((await post(urls[1], "jobs", {"handler": "diary.note", "schedule": "@every 1s"}))["id"])
        expected = await submitted(urls)

        await until_noted(place.folder, RUNS // 3)
        workers["red"].process.kill()
        leader.process.kill()
        await workers["red"].ended()
        so_far, noted = len(diary(place.folder)), journalled(place.folder, "red", store.identity)
        await start(worker(place, "red"))

        async def all_ended() -> bool:
            figures = await store.views.figures()
            return sum(tally.ended.get(State.SUCCEEDED, 0) for tally in figures.tallies) >= RUNS + 3

        await until(all_ended)
        # The clock goes on without the scheduler that was killed.
        fired = len(await runs_of(store, clock))
        await until_fired(store, clock, fired + 2)

    lines = diary(place.folder)
    wanted = set(expected)
    calls = Counter(line for line in lines if line in wanted)
    assert set(calls) == wanted, "nothing is lost"
    assert sum(calls.values()) - len(calls) <= 1, "only what the dead worker was about to note is repeated"
    assert not noted & set(lines[so_far:]), "what was noted as finished is never repeated"
    moments = sorted(run.due_at for run in await runs_of(store, clock))
    assert_every_second(moments)


async def until_fired(store: Store, job: UUID, times: int) -> None:
    async def fired() -> bool:
        return len(await runs_of(store, job)) >= times

    await until(fired)


def assert_every_second(moments: Sequence[datetime]) -> None:
    assert {later - earlier for earlier, later in pairwise(moments)} == {timedelta(seconds=1)}
