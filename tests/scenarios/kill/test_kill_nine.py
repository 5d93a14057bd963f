"""Real processes on one store, ended by kill -9 or stopped in their tracks."""

import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.domain.ids import RunId, new_job_id
from mainspring.domain.job import Job, NewJob, Overlap, Terms
from mainspring.domain.reschedule import scheduled
from mainspring.domain.run import NewRun, Run, State
from mainspring.domain.task import Task
from mainspring.ports.views import Cursor, RunFilter
from mainspring.wiring.stores import Store
from tests.scenarios.kill.watching import diary, journalled, until_all_ended, until_ended, until_noted
from tests.scenarios.serve.processes import Place, Running, mainspring, stored

SHORT_LIVES = ("--worker-ttl-seconds", "2")
RUNS = 3_000
RUNS_ON_CASSANDRA = 600
"""A node that shares two cores with everything else does a fifth as many in the same time."""
KILLS = 4


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    shutil.copy(Path(__file__).with_name("diary.py"), place.folder / "diary.py")
    async with stored(place) as opened:
        yield opened


def new_run(handler: str) -> NewRun:
    identifier = new_job_id(datetime.now(UTC), int.from_bytes(os.urandom(10), "big"))
    return NewRun(id=RunId(identifier), job_id=identifier, task=Task(handler=handler))


def worker(place: Place, name: str) -> AbstractAsyncContextManager[Running]:
    return mainspring(place, "worker", "--app", "diary", "--worker-name", name, *SHORT_LIVES)


async def test_a_worker_killed_under_load_loses_nothing_and_repeats_nothing_that_it_had_noted(
    store: Store, place: Place
) -> None:
    count = RUNS_ON_CASSANDRA if place.store.startswith("cassandra") else RUNS
    runs = [new_run("diary.note") for _ in range(count)]
    await store.work.add(runs)
    chance = random.Random(11)
    kept: list[tuple[int, frozenset[str]]] = []
    for kill in range(1, KILLS + 1):
        async with worker(place, "w") as running:
            goal = count * kill // (KILLS + 2) + chance.randrange(50)
            await until_noted(place.folder, goal)
            running.process.kill()
            await running.ended()
        kept.append((len(diary(place.folder)), journalled(place.folder, "w", store.identity)))
    async with worker(place, "w") as running:
        await until_all_ended(store, [run.id for run in runs])
        running.terminate()
        assert await running.ended() == 0

    lines = diary(place.folder)
    calls = Counter(lines)
    assert set(calls) == {str(run.id) for run in runs}, "every run had its effect"
    assert sum(calls.values()) - len(calls) <= KILLS, "at most one finished run is repeated per kill"
    for so_far, noted in kept:
        assert not noted & set(lines[so_far:]), "what was noted as finished is never repeated"


async def test_others_take_over_from_a_worker_that_never_comes_back(store: Store, place: Place) -> None:
    run = new_run("diary.wait")
    await store.work.add([run])
    async with mainspring(place, "scheduler"):
        async with worker(place, "first") as first:
            await until_noted(place.folder, 1)
            first.process.kill()
            await first.ended()
        (place.folder / "gate").touch()
        async with worker(place, "second"):
            ended = await until_ended(store, run.id)
    assert (ended.state, ended.worker, ended.attempt) == (State.SUCCEEDED, "second", 2)
    assert b'"lost"' in ended.log


async def test_a_worker_that_was_stopped_in_its_tracks_overwrites_nothing(store: Store, place: Place) -> None:
    run = new_run("diary.wait")
    await store.work.add([run])
    async with mainspring(place, "scheduler"), worker(place, "sleeper") as sleeper:
        await until_noted(place.folder, 1)
        os.kill(sleeper.process.pid, signal.SIGSTOP)
        async with worker(place, "other"):
            await until_noted(place.folder, 2)
            (place.folder / "gate").touch()
            ended = await until_ended(store, run.id)
            os.kill(sleeper.process.pid, signal.SIGCONT)
            await sleeper.line("session.lost")
            assert await store.views.run(run.id) == ended
    assert (ended.worker, ended.result) == ("other", b'"finished under 2"')


async def test_every_moment_fires_once_although_schedulers_are_killed(store: Store, place: Place) -> None:
    now = datetime.now(UTC)
    job = Job(
        id=new_job_id(now, 7),
        task=Task(handler="diary.note"),
        created_at=now,
        updated_at=now,
        terms=Terms(schedule="@every 1s", overlap=Overlap.ALLOW),
    )
    await store.work.add([NewJob(job=scheduled(job, now))])
    lives = ("--scheduler-ttl-seconds", "2")
    async with worker(place, "w"):
        for number in (2, 4):
            async with (
                mainspring(place, "scheduler", "--scheduler-name", f"a{number}", *lives) as one,
                mainspring(place, "scheduler", "--scheduler-name", f"b{number}", *lives) as other,
            ):
                await until_noted(place.folder, number)
                one.process.kill()
                await until_noted(place.folder, number + 1)
                other.process.kill()
        await until_all_ended(store, [run.id for run in await fired_runs(store, job)])
    fired = await fired_runs(store, job)
    assert {run.state for run in fired} == {State.SUCCEEDED}
    moments = sorted(run.due_at for run in fired)
    assert len(moments) >= 5
    assert moments == [job.created_at + timedelta(seconds=number + 1) for number in range(len(moments))]


async def fired_runs(store: Store, job: Job) -> Sequence[Run]:
    return (await store.views.runs(RunFilter(job_id=job.id), Cursor(limit=100))).items
