"""Planners that share the shards of the timetable: each fires its own, nothing is fired twice, and nothing is left."""

import asyncio
from datetime import timedelta

from mainspring.adapters.cassandra.jobs import store_job
from mainspring.adapters.cassandra.layout import SHARDS
from mainspring.domain.job import Job
from tests.unit.adapters.cassandra.world import PERIOD, World

EVEN, ODD = frozenset(range(0, SHARDS, 2)), frozenset(range(1, SHARDS, 2))
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def job_of(world: World, shards: frozenset[int], *, first_in: timedelta = timedelta(0)) -> Job:
    """A job that fires every five minutes, now for the first time unless told otherwise, in one of *shards*."""
    now = world.clock.now()
    while True:
        new = world.make.new_job(fires_at=now + first_in, created_at=now)
        if new.job.id.int % SHARDS in shards:
            await store_job(world.process().context, new, now)
            return new.job


async def test_each_of_two_planners_fires_what_lies_in_its_shards() -> None:
    world = World()
    even, odd = [await job_of(world, EVEN) for _ in range(5)], [await job_of(world, ODD) for _ in range(5)]
    await world.process().plan(EVEN)
    assert [len(await world.runs(job.id)) for job in (*even, *odd)] == [1] * 5 + [0] * 5
    await world.process().plan(ODD)
    assert [len(await world.runs(job.id)) for job in (*even, *odd)] == [1] * 10


async def test_two_that_both_believe_a_shard_is_theirs_fire_each_moment_once() -> None:
    world = World()
    jobs = [await job_of(world, EVEN) for _ in range(5)]
    planners = world.process(), world.process()
    for _ in range(3):
        await asyncio.gather(planners[0].plan(), planners[1].plan(EVEN))
        world.clock.advance(PERIOD)
    assert [len(await world.runs(job.id)) for job in jobs] == [3] * 5


async def test_a_shard_that_is_taken_over_is_looked_through_from_its_beginning() -> None:
    world = World()
    left_behind, planner = await job_of(world, ODD), world.process()
    await job_of(world, EVEN)
    world.clock.advance(10 * MINUTE)
    await planner.plan(EVEN)
    world.clock.advance(SECOND)
    await planner.plan(EVEN | ODD)
    assert len(await world.runs(left_behind.id)) > 0


async def test_a_planner_is_told_of_no_moment_in_a_shard_of_another() -> None:
    world = World()
    await job_of(world, ODD, first_in=30 * SECOND)
    assert (await world.process().timetable.due(10, EVEN)).next_in is None
    assert (await world.process().timetable.due(10, ODD)).next_in == 30 * SECOND


async def test_minutes_that_are_long_over_leave_the_directory_whoever_cleared_their_shards() -> None:
    world = World()
    planners = [(world.process(), EVEN), (world.process(), ODD)]
    jobs = [await job_of(world, shards) for _, shards in planners]
    for _ in range(24):
        for planner, shards in planners:
            await planner.plan(shards)
        world.clock.advance(PERIOD)
    assert len(await world.places()) < 32
    assert [len(await world.runs(job.id)) for job in jobs] == [24, 24]


async def test_a_minute_that_is_long_over_stays_in_the_directory_while_another_s_shard_has_something_to_do() -> None:
    world = World()
    waiting, planner = await job_of(world, ODD), world.process()
    entry = (await world.stored(waiting.id)).entry
    assert entry is not None
    for _ in range(24):
        await job_of(world, EVEN)
        await planner.plan(EVEN)
        world.clock.advance(PERIOD)
    assert entry.place in await world.places()
    await world.process().plan(ODD)
    assert len(await world.runs(waiting.id)) > 0
