"""Two schedulers on one Cassandra share the shards of its timetable; when one is killed, the other has them all."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from mainspring.adapters.cassandra.layout import SHARDS, shard_of
from mainspring.domain.ids import JobId
from mainspring.domain.job import Job, NewJob
from mainspring.domain.rendezvous import owner
from mainspring.ports.views import Cursor, RunFilter
from mainspring.services.ownership import firing
from mainspring.testing.factories import Factory
from mainspring.wiring.stores import Store
from tests.scenarios.kill.watching import until
from tests.scenarios.serve.processes import Place, Running, mainspring, stored

PERIOD = timedelta(seconds=2)
FIRST, SECOND = "one", "other"
SHARE = {
    name: sum(owner(firing(shard), (FIRST, SECOND)) == name for shard in range(SHARDS)) for name in (FIRST, SECOND)
}


@pytest.fixture
def place(cassandra_url: str, tmp_path: Path) -> Place:
    return Place(tmp_path, cassandra_url)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    async with stored(place) as opened:
        yield opened


def scheduler(place: Place, name: str) -> AbstractAsyncContextManager[Running]:
    return mainspring(place, "scheduler", "--scheduler-name", name, "--scheduler-ttl-seconds", "3")


async def job_in_each_shard(store: Store) -> Sequence[Job]:
    """All of them fire every two seconds from now on."""
    now = await store.views.now()
    make, found = Factory(start=now), dict[int, NewJob]()
    while len(found) < SHARDS:
        new = make.new_job(schedule="@every 2s", created_at=now, fires_at=now + PERIOD)
        found.setdefault(shard_of(new.job.id), new)
    await store.work.add([*found.values()])
    return [new.job for new in found.values()]


async def until_all_fired(store: Store, jobs: Sequence[Job], *, times: int) -> None:
    """Everything that comes due from now on, so many times."""
    end = await store.views.now() + times * PERIOD
    left = [job.id for job in jobs]

    async def all_fired() -> bool:
        while left:
            record = await store.views.job(left[-1])
            assert record is not None
            if record.job.next_fire_at is None or record.job.next_fire_at <= end:
                return False
            left.pop()
        return True

    await until(all_fired)


async def moments_of(store: Store, job: JobId) -> Sequence[datetime]:
    page = await store.views.runs(RunFilter(job_id=job), Cursor(limit=200))
    return sorted(run.due_at for run in page.items)


@pytest.mark.slow
async def test_two_schedulers_each_fire_some_shards_and_one_takes_over_those_of_the_other_that_is_killed(
    place: Place, store: Store
) -> None:
    assert all(SHARE.values()), "each has some"
    jobs = await job_in_each_shard(store)
    async with AsyncExitStack() as running:
        first = await running.enter_async_context(scheduler(place, FIRST))
        await first.line("became leader", shards=SHARDS)
        second = await running.enter_async_context(scheduler(place, SECOND))
        await second.line("became leader", shards=SHARE[SECOND], of=SHARDS)
        await first.line("timetable.shared", shards=SHARE[FIRST])
        # Nobody looks into the shards of the other any more: that all go on shows that both fire.
        await until_all_fired(store, jobs, times=2)
        second.process.kill()
        await first.line("timetable.shared", shards=SHARDS)
        await until_all_fired(store, jobs, times=2)
    for job in jobs:
        moments = await moments_of(store, job.id)
        assert {later - earlier for earlier, later in pairwise(moments)} == {PERIOD}, (
            "each moment once, and none is left out"
        )
