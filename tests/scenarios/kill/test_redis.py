"""Schedulers whose leader Redis names, on one store: the leader is killed, and Redis forgets, dies and comes back."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis

from mainspring.adapters.exchange import SEPARATOR
from mainspring.adapters.redis.leadership import KEY
from mainspring.adapters.redis.signals import channel_of
from mainspring.domain.ids import DEFAULT_LANE, RunId, new_job_id
from mainspring.domain.job import Job, NewJob, Overlap, Terms
from mainspring.domain.reschedule import scheduled
from mainspring.domain.run import NewRun, Run, State
from mainspring.domain.task import Task
from mainspring.ports.signals import lane_topic
from mainspring.ports.views import Cursor, RunFilter
from mainspring.wiring.stores import Store
from servers.valkey import ValkeyServer
from tests.scenarios.kill.watching import diary, until, until_all_ended, until_noted
from tests.scenarios.serve.processes import WITHOUT_POLLS, Place, Running, embedded, mainspring, stored

SCHEDULERS = ("one", "two")
SHORT_LIVES = ("--scheduler-ttl-seconds", "2")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    shutil.copy(Path(__file__).with_name("diary.py"), tmp_path / "diary.py")
    return embedded(tmp_path)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with stored(place) as opened:
        yield opened


@pytest.fixture
async def clock(store: Store) -> Job:
    """Something that is due each second."""
    now = datetime.now(UTC)
    job = Job(
        id=new_job_id(now, 7),
        task=Task(handler="diary.note"),
        created_at=now,
        updated_at=now,
        terms=Terms(schedule="@every 1s", overlap=Overlap.ALLOW),
    )
    await store.work.add([NewJob(job=scheduled(job, now))])
    return job


@asynccontextmanager
async def cluster(place: Place, redis: str) -> AsyncIterator[Mapping[str, Running]]:
    """A worker and two schedulers."""
    by_redis = ("--signals", redis, "--members", redis)
    async with AsyncExitStack() as running:
        start = running.enter_async_context
        await start(mainspring(place, "worker", "--app", "diary", "--signals", redis))
        yield {
            name: await start(mainspring(place, "scheduler", "--scheduler-name", name, *SHORT_LIVES, *by_redis))
            for name in SCHEDULERS
        }


async def until_led(url: str, by: Sequence[str] = SCHEDULERS) -> str:
    """Who leads, once it is one of these: what `redis-cli GET` says."""
    found = ""
    async with Redis.from_url(url, decode_responses=True) as client:

        async def led() -> bool:
            nonlocal found
            found = str(await client.get(KEY) or "")
            return found in by

        await until(led)
    return found


async def until_noted_more(place: Place, lines: int) -> None:
    await until_noted(place.folder, len(diary(place.folder)) + lines)


async def fired(store: Store, job: Job) -> Sequence[Run]:
    return (await store.views.runs(RunFilter(job_id=job.id), Cursor(limit=100))).items


async def stopped(*schedulers: Running) -> None:
    """Nothing fires any more; what has fired is for the worker to end."""
    for each in schedulers:
        each.terminate()
    for each in schedulers:
        assert await each.ended() == 0


async def assert_each_moment_ran_once(place: Place, store: Store, job: Job) -> None:
    await until_all_ended(store, [run.id for run in await fired(store, job)])
    moments = sorted(run.due_at for run in await fired(store, job))
    assert moments == [job.created_at + timedelta(seconds=number + 1) for number in range(len(moments))]
    calls = Counter(diary(place.folder))
    assert (len(calls), set(calls.values())) == (len(moments), {1})


async def test_when_the_leader_is_killed_another_leads_and_every_moment_fires_once(
    place: Place, store: Store, clock: Job, redis_url: str
) -> None:
    """S4-08, 83."""
    async with cluster(place, redis_url) as schedulers:
        leader = await until_led(redis_url)
        await schedulers[leader].line("became leader")
        await until_noted_more(place, 2)
        schedulers[leader].process.kill()
        [heir] = [name for name in SCHEDULERS if name != leader]
        assert await until_led(redis_url, [heir]) == heir
        await schedulers[heir].line("became leader")
        await until_noted_more(place, 2)
        await stopped(schedulers[heir])
        async with Redis.from_url(redis_url) as client:
            assert await client.get(KEY) is None, "whoever ends in order resigns"
        await assert_each_moment_ran_once(place, store, clock)


async def test_a_redis_that_forgets_dies_and_comes_back_costs_no_moment(
    place: Place, store: Store, clock: Job, valkey_server: ValkeyServer
) -> None:
    """S4-78."""
    url = valkey_server.url()
    async with cluster(place, url) as schedulers:
        for _ in range(2):
            await until_led(url)
            async with Redis.from_url(url) as client:
                await client.flushall()
            await until_noted_more(place, 1)
        await asyncio.to_thread(valkey_server.kill)
        for each in schedulers.values():
            await each.line("leadership.unknown")
        await until_noted_more(place, 2)
        await asyncio.to_thread(valkey_server.start)
        await until_led(url)
        await until_noted_more(place, 2)
        await stopped(*schedulers.values())
        await assert_each_moment_ran_once(place, store, clock)


@pytest.fixture(params=["sqlite", "cassandra"])
def quiet(request: pytest.FixtureRequest, place: Place) -> Place:
    """With a store that tells nobody of what is added."""
    return place if request.param == "sqlite" else Place(place.folder, request.getfixturevalue("cassandra_url"))


async def test_a_worker_wakes_by_redis_alone(quiet: Place, redis_url: str) -> None:
    """Who adds the run tells nobody, and the worker doesn't poll: only what a stranger publishes can wake it."""
    now = datetime.now(UTC)
    run = NewRun(id=RunId(new_job_id(now, 8)), job_id=new_job_id(now, 8), task=Task(handler="test.echo"))
    async with (
        stored(quiet) as store,
        mainspring(quiet, "worker", "--signals", redis_url, program=WITHOUT_POLLS) as worker,
        Redis.from_url(redis_url) as client,
    ):
        await worker.line("session.opened")
        await store.work.add([run])

        async def ended() -> bool:
            await client.publish(channel_of(0), SEPARATOR.join(("a stranger", lane_topic(DEFAULT_LANE))))
            found = await store.views.run(run.id)
            return found is not None and found.state is State.SUCCEEDED

        await until(ended)
