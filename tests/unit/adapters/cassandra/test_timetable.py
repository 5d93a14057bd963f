"""The timetable's protocol, step by step: whoever dies and whatever is unheard, each moment gets one verdict."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from random import Random

import pytest

from mainspring.adapters.cassandra.jobs import store_job
from mainspring.adapters.cassandra.layout import instant, micros, span_of
from mainspring.adapters.cassandra.listing import enlist, strike
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import fired_run_id
from mainspring.domain.job import Job, JobState, Misfire, Overlap, Terms
from mainspring.domain.plan import LOOK_AGAIN, DueJob, plan
from mainspring.domain.reschedule import resumed
from mainspring.domain.run import State
from mainspring.errors import MainspringError, NotFound, VersionConflict
from mainspring.ports.work import Addition
from mainspring.testing.clock import ManualClock
from tests.unit.adapters.cassandra.faults import Died, Fate
from tests.unit.adapters.cassandra.world import PERIOD, Process, World, ids, paused

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def deaths(act: Callable[[World, Job, Process], Awaitable[object]]) -> AsyncIterator[tuple[World, Job]]:
    """A world in which a process has died after its first verb of *act*, one after its second, until one survives."""
    for verbs in count():
        world = World()
        job = await world.job()
        try:
            await act(world, job, world.process(verbs_left=verbs))
        except Died:
            yield world, job
        else:
            yield world, job
            return


async def fired(world: World, job: Job, moments: int) -> None:
    """Each of the first *moments* has one run that a claim can find, and only the one after them is listed."""
    assert job.next_fire_at is not None
    rows = await world.runs(job.id)
    assert ids(rows) == {fired_run_id(job.id, job.next_fire_at + before * PERIOD) for before in range(moments)}
    for row in rows:
        assert await world.findable(row)
    stored = await world.stored(job.id)
    assert stored.job.next_fire_at == job.next_fire_at + moments * PERIOD
    assert await world.entries() == [stored.entry]


async def test_a_fire_that_dies_after_any_of_its_verbs_is_finished_by_another_process() -> None:
    async for world, job in deaths(lambda _, __, process: process.plan()):
        await world.process().plan()
        await fired(world, job, 1)
        world.clock.advance(PERIOD)
        await world.process().plan()
        await fired(world, job, 2)


async def test_what_a_dead_process_has_fired_is_made_before_a_pause_returns_and_nothing_after() -> None:
    async for world, job in deaths(lambda _, __, process: process.plan()):
        seen = await world.read(job.id)
        await world.process().timetable.save(paused(seen), seen)
        made = ids(await world.runs(job.id))
        assert made == ({fired_run_id(job.id, world.clock.now())} if seen.next_fire_at != job.next_fire_at else set())
        world.clock.advance(PERIOD)
        await world.process().plan()
        assert ids(await world.runs(job.id)) == made
        assert not await world.entries()


async def test_what_a_dead_process_has_fired_is_made_before_the_next_moment_fires() -> None:
    async for world, job in deaths(lambda _, __, process: process.plan()):
        world.clock.advance(PERIOD)
        seen = await world.read(job.id)
        due = DueJob(job=replace(seen, terms=replace(seen.terms, misfire=Misfire(grace=2 * PERIOD))), active=None)
        assert await world.process().timetable.fire([plan(due, world.clock.now())]) == [True]
        await world.process().timetable.due(10)
        await fired(world, job, 2)


async def test_a_pause_that_dies_after_any_of_its_verbs_is_made_or_not_and_loses_no_moment() -> None:
    async for world, job in deaths(lambda _, job, process: process.timetable.save(paused(job), job)):
        await world.process().plan()
        if (await world.read(job.id)).state is JobState.ACTIVE:
            await fired(world, job, 1)
        else:
            assert not await world.runs(job.id)
            assert not await world.entries()


async def test_a_resumption_that_dies_after_any_of_its_verbs_is_made_with_its_skips_or_not() -> None:
    async def resume(world: World, job: Job, process: Process) -> None:
        held = await world.process().timetable.save(paused(job), job)
        world.clock.advance(2 * PERIOD + MINUTE)
        active, skips = resumed(held, world.clock.now())
        await process.timetable.save(active, held, skips)

    async for world, job in deaths(resume):
        await world.process().timetable.due(10)
        verdicts = [State.SKIPPED] if (await world.read(job.id)).state is JobState.ACTIVE else []
        assert await world.states(job.id) == verdicts
        world.clock.advance(PERIOD)
        await world.process().plan()
        assert await world.states(job.id) == verdicts + [State.WAITING] * len(verdicts)


async def test_a_replacement_that_dies_after_any_of_its_verbs_is_made_by_another_process() -> None:
    async def replace_run(world: World, job: Job, process: Process) -> None:
        terms = Terms(schedule="@every 5m", overlap=Overlap.REPLACE)
        await world.process().timetable.save(replace(job, terms=terms), job)
        await world.process().plan()
        world.clock.advance(PERIOD)
        await process.plan()

    async for world, job in deaths(replace_run):
        for _ in range(3):
            await world.process().plan()
            world.clock.advance(SECOND)
        assert await world.states(job.id) == [State.CANCELLED, State.WAITING]


@pytest.mark.parametrize("fate", Fate)
async def test_a_fire_without_an_answer_is_made_once(fate: Fate) -> None:
    world = World()
    job = await world.job()
    process = world.process(fates=[fate])
    due = await process.timetable.due(10)
    assert await process.timetable.fire([plan(item, due.now) for item in due.jobs]) == [True]
    await fired(world, job, 1)


async def test_a_fire_without_an_answer_that_somebody_else_has_made_is_made_once() -> None:
    world = World()
    job = await world.job()
    first, second = world.process(), world.process()
    due = await first.timetable.due(10)
    steps = [plan(item, due.now) for item in due.jobs]

    async def come_first() -> None:
        assert await second.timetable.fire(steps) == [True]

    first.rows.unheard(Fate.DROPPED, then=come_first)
    assert await first.timetable.fire(steps) == [False]
    await fired(world, job, 1)


@pytest.mark.parametrize("fate", Fate)
async def test_an_edit_without_an_answer_is_made_once(fate: Fate) -> None:
    world = World()
    job = await world.job()
    saved = await world.process(fates=[fate]).timetable.save(replace(job, name="new"), job)
    assert saved.version == job.version + 1
    assert await world.read(job.id) == saved
    assert await world.entries() == [(await world.stored(job.id)).entry]


async def test_an_edit_without_an_answer_is_recognised_after_its_job_has_fired() -> None:
    world = World()
    job = await world.job()
    editor = world.process()
    editor.rows.unheard(Fate.APPLIED, then=world.process().plan)
    saved = await editor.timetable.save(replace(job, name="new"), job)
    assert (await world.read(job.id)).name == saved.name == "new"
    await fired(world, job, 1)


async def test_an_edit_without_an_answer_is_a_conflict_if_another_was_made() -> None:
    world = World()
    job = await world.job()
    editor = world.process()

    async def come_first() -> None:
        await world.process().timetable.save(replace(job, name="first"), job)

    editor.rows.unheard(Fate.DROPPED, then=come_first)
    with pytest.raises(VersionConflict):
        await editor.timetable.save(replace(job, name="second"), job)
    assert (await world.read(job.id)).name == "first"


@pytest.mark.parametrize("fate", Fate)
async def test_a_new_job_without_an_answer_is_stored_once(fate: Fate) -> None:
    world = World()
    process = world.process(fates=[fate])
    new = world.make.new_job(fires_at=world.clock.now())
    assert (await store_job(process.context, new, world.clock.now())).kind is Addition.CREATED
    assert (await store_job(process.context, new, world.clock.now())).kind is Addition.EXISTING
    assert await world.read(new.job.id) == new.job
    await world.process().plan()
    assert await world.states(new.job.id) == [State.WAITING]


async def test_entries_that_have_ceased_to_count_are_dropped() -> None:
    world = World()
    job = await world.job()
    saved = await world.process().timetable.save(replace(job, name="new"), job)
    context = world.process().context
    for version in (1, 2):
        await enlist(context, job.id, version, earliest=0)
    world.clock.advance(SECOND)
    await world.process().plan()
    await fired(world, saved, 1)


async def test_an_entry_that_may_yet_count_is_left_alone_and_given_up_after_an_hour() -> None:
    world = World()
    context = world.process().context
    early = await enlist(context, world.make.id(), 1, earliest=0)
    planner = world.process()
    assert not (await planner.timetable.due(10)).jobs
    assert await world.entries() == [early]
    world.clock.advance(61 * MINUTE)
    assert not (await planner.timetable.due(10)).jobs
    assert not await world.entries()


async def test_a_process_that_stands_still_before_it_decides_lists_its_job_once_more() -> None:
    world = World()
    job = await world.job()
    slow, watcher = world.process(), world.process()

    async def hours_pass() -> None:
        for _ in range(2):
            world.clock.advance(61 * MINUTE)
            await watcher.timetable.due(10)
        assert [entry.at for entry in await world.entries()] == [micros(job.created_at)]

    slow.rows.before_deciding = hours_pass
    await slow.plan()
    stored = await world.stored(job.id)
    assert await world.entries() == [stored.entry]
    assert [item.job for item in (await world.process().timetable.due(10)).jobs] == [stored.job]


async def test_a_removal_that_comes_late_hits_no_new_entry() -> None:
    world = World()
    job = await world.job()
    old = (await world.stored(job.id)).entry
    assert old is not None
    await world.process().plan()
    moved = await world.read(job.id)
    await world.process().timetable.save(replace(moved, next_fire_at=job.next_fire_at, wake_at=job.wake_at), moved)
    await strike(world.process().context, old)
    assert [item.job.id for item in (await world.process().timetable.due(10)).jobs] == [job.id]


async def test_a_job_that_is_looked_at_again_is_listed_once() -> None:
    world = World()
    job = await world.job(terms=Terms(schedule="@every 5m", overlap=Overlap.WAIT))
    await world.process().plan()
    world.clock.advance(PERIOD)
    for _ in range(5):
        await asyncio.gather(world.process().plan(), world.process().plan())
        assert await world.entries() == [(await world.stored(job.id)).entry]
        world.clock.advance(LOOK_AGAIN)
    assert await world.states(job.id) == [State.WAITING]


@pytest.mark.parametrize("seed", range(40))
async def test_planners_and_people_at_once_give_each_moment_one_verdict(seed: int) -> None:
    world, chance = World(), Random(seed)
    job = await world.job()

    async def change_the_mind(process: Process) -> None:
        await _pause_or_resume(world, process, job)

    for _ in range(6):
        acts: list[Callable[[Process], Awaitable[object]]] = [Process.plan, Process.plan, Process.plan, change_the_mind]
        await asyncio.gather(*(_live(world, chance, act) for act in acts))
        world.clock.advance(PERIOD)
    last = world.process()
    if (await world.read(job.id)).state is JobState.PAUSED:
        await _pause_or_resume(world, last, job)
    await last.plan()
    await _has_one_verdict_for_each_moment(world, job)


async def _live(world: World, chance: Random, act: Callable[[Process], Awaitable[object]]) -> None:
    """Act three times, as the same process unless it dies."""
    process = _unlucky(world, chance)
    for _ in range(3):
        try:
            await act(process)
        except Died:
            process = _unlucky(world, chance)
        except MainspringError:
            continue


def _unlucky(world: World, chance: Random) -> Process:
    fates = chance.choices([None, *Fate], weights=[6, 1, 1, 1], k=20)
    verbs = chance.choice([None, chance.randrange(60)])
    return world.process(chance=Random(chance.random()), fates=fates, verbs_left=verbs)


async def _pause_or_resume(world: World, process: Process, job: Job) -> None:
    seen = await world.read(job.id)
    if seen.state is JobState.PAUSED:
        changed, skips = resumed(seen, world.clock.now())
        await process.timetable.save(changed, seen, skips)
        return
    await process.timetable.save(paused(seen), seen)
    made = ids(await world.runs(job.id))
    for _ in range(20):
        await asyncio.sleep(0)
    later = ids(await world.runs(job.id))
    if (await world.read(job.id)).version == seen.version + 1:
        assert later == made


async def _has_one_verdict_for_each_moment(world: World, job: Job) -> None:
    assert job.next_fire_at is not None
    moment, tick = micros(job.next_fire_at), span_of(PERIOD)
    for row in await world.runs(job.id):
        assert row["due_at"] == moment
        if state_of(row) is State.SKIPPED:
            moment = number(row, "skipped_to")
        else:
            assert await world.findable(row)
        moment += tick
    stored = await world.stored(job.id)
    assert stored.job.next_fire_at == instant(moment)
    assert stored.entry in await world.entries()


async def test_a_job_that_was_deleted_is_gone_for_edits() -> None:
    world = World()
    job = await world.job()
    deleted = await world.process().timetable.save(replace(job, state=JobState.DELETED, next_fire_at=None), job)
    with pytest.raises(NotFound):
        await world.process().timetable.save(replace(job, name="again"), deleted)


@pytest.mark.parametrize("jobs", [20, 400])
async def test_a_quiet_timetable_costs_less_than_ten_reads_a_second_however_many_jobs_wait(jobs: int) -> None:
    world = World()
    for later in range(jobs):
        await world.job(fires_at=world.clock.now() + timedelta(seconds=3600 + later))
    planner, seconds = world.process(), 120
    for _ in range(seconds):
        world.clock.advance(SECOND)
        due = await planner.timetable.due(10)
        assert not due.jobs
        assert due.next_in is not None
    assert planner.rows.reads < 10 * seconds


async def test_jobs_that_fire_every_minute_cost_less_than_twenty_reads_a_second_besides_their_fires() -> None:
    world = World()
    for _ in range(16):
        await world.job(terms=Terms(schedule="@every 1m"))
    planner, seconds = world.process(), 300
    fires = 0
    for _ in range(seconds):
        before = planner.rows.reads
        due = await planner.timetable.due(100)
        fires += planner.rows.reads - before if due.jobs else 0
        await planner.timetable.fire([plan(item, due.now) for item in due.jobs])
        fires += planner.rows.reads - before if due.jobs else 0
        world.clock.advance(SECOND)
    assert planner.rows.reads - fires < 20 * seconds


async def test_more_jobs_than_a_planner_takes_at_once_are_fired_in_turn_and_hardly_read_twice() -> None:
    world, jobs, limit = World(), 400, 50
    for _ in range(jobs):
        await world.job()
    planner = world.process()
    won, next_in = [], timedelta(0)
    while next_in == timedelta(0):
        due = await planner.timetable.due(limit)
        won.append(sum(await planner.timetable.fire([plan(item, due.now) for item in due.jobs])))
        next_in = MINUTE if due.next_in is None else due.next_in
    assert sum(won) == jobs
    assert len(won) <= jobs // limit + 2
    assert planner.rows.reads < 15 * jobs


async def test_minutes_that_are_long_over_leave_the_directory() -> None:
    world = World()
    job = await world.job()
    planner = world.process()
    for _ in range(24):
        await planner.plan()
        world.clock.advance(PERIOD)
    assert len(await world.places()) < 16
    assert len(await world.runs(job.id)) == 24


async def test_an_entry_that_was_written_late_is_found() -> None:
    world = World()
    planner, late = world.process(), world.process()
    await planner.plan()
    new = world.make.new_job(fires_at=world.clock.now())
    slow = ManualClock(world.clock.now())
    world.clock.advance(10 * MINUTE)
    await planner.plan()
    await store_job(replace(late.context, clock=slow), new, slow.now())
    for _ in range(6):
        await planner.plan()
        world.clock.advance(MINUTE)
    assert len(await world.runs(new.job.id)) > 1
