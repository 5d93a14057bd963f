from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.layout import SHARDS, home_of, micros
from mainspring.adapters.cassandra.rows import ALL, Key
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import BLOB_AGE, BLOB_USE, DEAD, OUTPUT, RUN, RUN_BY_OWNER, SLOT
from mainspring.domain.ids import Fence, RunId
from mainspring.domain.job import JobState
from mainspring.domain.outcome import Failed
from mainspring.domain.run import State
from mainspring.errors import NotFound
from mainspring.ports.output import Printed
from mainspring.ports.views import Cursor, RunFilter
from mainspring.ports.work import Addition
from mainspring.testing.contracts.base import a_worker, added, claimed, dead, settled
from mainspring.testing.factories import a_key
from tests.unit.adapters.cassandra.faults import Died
from tests.unit.adapters.cassandra.world import World

DAY = timedelta(days=1)
LATER = timedelta(days=2)


async def with_a_dead_letter() -> tuple[World, RunId]:
    """One run that died long ago, with all that can hang on it."""
    world = World()
    store = CassandraStore(world.process().context)
    blob = await store.blobs.put(b"large")
    run = world.make.run(owner="o", key=a_key("k"), blob=blob, payload=b"")
    await dead(store, await a_worker(store), run)
    await store.output.write([Printed(run_id=run.id, fence=Fence(1), head=b"x")])
    world.clock.advance(LATER)
    return world, run.id


async def prune(world: World, **faults: int) -> None:
    upkeep = CassandraStore(world.process(**faults).context).upkeep
    while await upkeep.prune(DAY, 3):
        pass


async def remains(world: World, run_id: RunId) -> list[str]:
    """Tables in which something of the run is left."""
    rows, month = world.process().context.rows, 202601
    places: Mapping[Table, Sequence[Key]] = {
        RUN: [home_of(run_id)],
        RUN_BY_OWNER: [("o", month)],
        DEAD: [("o", month)],
        OUTPUT: [(run_id,)],
        SLOT: [(shard,) for shard in range(SHARDS)],
        BLOB_AGE: [(shard,) for shard in range(SHARDS)],
    }
    return [
        table.name
        for table, partitions in places.items()
        if any([await rows.slice(table, partition, ALL, limit=1) for partition in partitions])
    ]


async def test_nothing_is_left_of_a_run_that_was_forgotten() -> None:
    world, run_id = await with_a_dead_letter()
    assert len(await remains(world, run_id)) == 6
    await prune(world)
    assert await remains(world, run_id) == []


async def test_whatever_was_left_by_somebody_who_was_stopped_is_found_again() -> None:
    died = 0
    for verbs in range(200):
        world, run_id = await with_a_dead_letter()
        try:
            await prune(world, verbs_left=verbs)
        except Died:
            died += 1
        await prune(world)
        assert await remains(world, run_id) == [], verbs
        if died <= verbs:
            break
    assert 20 < died < 200


async def test_a_run_that_comes_late_into_a_forgotten_minute_is_stored_and_runs() -> None:
    world, run_id = await with_a_dead_letter()
    await prune(world)
    store = CassandraStore(world.process().context)
    runs = [run for run in world.make.runs(200) if home_of(run.id) == home_of(run_id)]
    await added(store, *runs)
    worker = await a_worker(store)
    assert {attempt.run_id for attempt in await claimed(store, worker)} == {run.id for run in runs}
    assert {run.id for run in (await store.views.runs(RunFilter(), Cursor())).items} == {run.id for run in runs}


async def test_a_minute_with_nothing_to_forget_is_left_alone_for_a_while() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    await added(store, *world.make.runs(20, due=timedelta(days=30)))
    world.clock.advance(LATER)
    process = world.process()
    upkeep = CassandraStore(process.context).upkeep
    await upkeep.prune(DAY, 100)
    first = process.rows.reads
    await upkeep.prune(DAY, 100)
    assert process.rows.reads - first < first


async def test_a_run_that_ends_late_is_forgotten_in_its_time() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    worker = await a_worker(store, ttl=LATER)
    await added(store, world.make.run())
    (attempt,) = await claimed(store, worker)
    world.clock.advance(LATER)
    assert await store.upkeep.prune(DAY, 100) == 0
    await settled(store, attempt, Failed(error="broken", permanent=True))
    world.clock.advance(DAY - timedelta(minutes=1))
    await prune(world)
    run = await store.views.run(attempt.run_id)
    assert run is not None
    assert run.state is State.DEAD
    world.clock.advance(timedelta(minutes=2))
    await prune(world)
    assert await store.views.run(attempt.run_id) is None


async def test_a_blob_that_is_put_again_before_it_is_forgotten_is_kept() -> None:
    world = World()
    content = bytes(range(256)) * 5_000
    store = CassandraStore(world.process().context)
    blob = await store.blobs.put(content)
    world.clock.advance(LATER)
    await store.blobs.put(content)
    world.clock.advance(timedelta(minutes=1))
    assert await CassandraStore(world.process().context).upkeep.prune(DAY, 100) == 1
    assert await store.blobs.get(blob) == content
    world.clock.advance(LATER)
    await prune(world)
    with pytest.raises(NotFound):
        await store.blobs.get(blob)


async def test_a_blob_in_use_is_asked_about_again_only_after_a_while() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    blob = await store.blobs.put(b"large")
    run = world.make.run(due=timedelta(days=30), blob=blob, payload=b"")
    await added(store, run)
    world.clock.advance(LATER)
    await prune(world)
    rows = world.process().context.rows
    ages = [row for shard in range(SHARDS) for row in await rows.slice(BLOB_AGE, (shard,), limit=10)]
    assert [row["at"] for row in ages] == [micros(world.clock.now())]


async def test_a_use_that_came_to_nothing_keeps_a_blob_no_longer_than_its_age() -> None:
    world = World()
    process = world.process()
    store = CassandraStore(process.context)
    blob = await store.blobs.put(b"large")
    run = world.make.run(blob=blob, payload=b"")
    process.rows.verbs_left = 1  # the entries are written, the run isn't
    with pytest.raises(Died):
        await store.work.add([run])
    world.clock.advance(LATER)
    await prune(world)
    others = CassandraStore(world.process().context)
    with pytest.raises(NotFound):
        await others.blobs.get(blob)
    assert not await world.process().context.rows.slice(BLOB_USE, (blob,), limit=1)


async def test_the_key_of_a_job_that_was_deleted_long_ago_may_be_used_again() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    await store.work.add([world.make.new_job(key=a_key(f"kept-{number}"), owner="o") for number in range(60)])
    gone = world.make.new_job(key=a_key("k"), owner="o")
    await store.work.add([gone])
    world.clock.advance(DAY)
    await store.timetable.save(replace(gone.job, state=JobState.DELETED), gone.job)
    for expected in (Addition.EXISTING, Addition.EXISTING, Addition.CREATED):
        for _ in range(3):
            await store.upkeep.prune(DAY, 100)
        (answer,) = await store.work.add([world.make.new_job(key=a_key("k"), owner="o")])
        assert answer.kind is expected
        world.clock.advance(DAY / 2)
    (answer,) = await store.work.add([world.make.new_job(key=a_key("kept-7"), owner="o")])
    assert answer.kind is Addition.EXISTING
