import asyncio
from datetime import timedelta
from random import Random

import pytest

from mainspring.adapters.cassandra.ledger import PAGE_LASTS, Noted, Totals, tally_part
from mainspring.adapters.cassandra.rows import UnknownOutcome
from mainspring.adapters.cassandra.tables import TALLY
from mainspring.adapters.cassandra.totals import CLOSED, fold, read_totals
from mainspring.adapters.cassandra.upkeep import CassandraUpkeep
from mainspring.domain.ids import Lane
from mainspring.domain.run import Origin, State
from tests.unit.adapters.cassandra.faults import Died, Fate
from tests.unit.adapters.cassandra.world import Process, World

LANES = (Lane("left"), Lane("right"))
MOMENT = timedelta(seconds=1)


async def note(world: World, process: Process, lane: Lane = LANES[0]) -> None:
    run = Noted(id=world.make.id(), owner="o", fence=1, state=State.SUCCEEDED, lane=lane, added=1, ended=1)
    await process.context.note([run])


async def busy_world() -> World:
    """Three processes have been at work, and two of them are gone."""
    world = World()
    processes = [world.process() for _ in range(3)]
    for process in processes:
        for lane in LANES:
            await note(world, process, lane)
            await note(world, process, lane)
    world.clock.advance(CLOSED + MOMENT)
    await note(world, processes[2])
    return world


async def added(world: World) -> dict[Lane, int]:
    totals = await read_totals(world.process().context.rows)
    assert all(each.ended == {State.SUCCEEDED: each.added} for each in totals.values())
    return {lane: totals["o", lane, Origin.IMMEDIATE].added for lane in LANES}


async def pages(world: World) -> int:
    return len(await world.process().context.rows.slice(TALLY, (tally_part("o"),), limit=1000))


EXPECTED = {LANES[0]: 7, LANES[1]: 6}


async def test_pages_that_nobody_writes_any_more_are_added_up_and_removed() -> None:
    world = await busy_world()
    assert await pages(world) == 7
    context = world.process().context
    assert [await fold(context, 4) for _ in range(4)] == [4, 2, 0, 0]
    assert (await added(world), await pages(world)) == (EXPECTED, 1)


async def test_pages_that_may_yet_be_written_are_left_alone() -> None:
    world = World()
    process = world.process()
    await note(world, process)
    world.clock.advance(PAGE_LASTS)
    await note(world, process)
    world.clock.advance(CLOSED)
    assert await fold(process.context, 100) == 0
    world.clock.advance(MOMENT)
    assert await fold(process.context, 100) == 1


async def test_a_process_goes_on_after_its_page_was_folded() -> None:
    world = await busy_world()
    survivor = world.process()
    await note(world, survivor)
    for _ in range(3):
        world.clock.advance(CLOSED + MOMENT)
        assert await fold(world.process().context, 100) > 0
        await note(world, survivor)
    assert await added(world) == {**EXPECTED, LANES[0]: 11}


async def test_nothing_is_counted_twice_or_lost_wherever_a_fold_stops() -> None:
    died = 0
    for verbs in range(100):
        world = await busy_world()
        try:
            await fold(world.process(verbs_left=verbs).context, 2)
        except Died:
            died += 1
        assert await added(world) == EXPECTED, verbs
        while await fold(world.process().context, 2):
            assert await added(world) == EXPECTED, verbs
        if died <= verbs:
            break
    assert 4 < died < 100


@pytest.mark.parametrize("fate", Fate)
async def test_a_fold_whose_answer_was_lost_counts_once(fate: Fate) -> None:
    world = await busy_world()
    with pytest.raises(UnknownOutcome):
        await fold(world.process(fates=[fate]).context, 100)
    assert await added(world) == EXPECTED
    world.clock.advance(CLOSED + MOMENT)
    while await fold(world.process().context, 100):
        pass
    assert await added(world) == EXPECTED


@pytest.mark.parametrize("seed", range(20))
async def test_several_fold_at_the_same_time(seed: int) -> None:
    world, chance = await busy_world(), Random(seed)
    folders = [world.process(chance=Random(chance.random())).context for _ in range(3)]
    await asyncio.gather(*(fold(context, 2) for context in folders for _ in range(3)))
    assert await added(world) == EXPECTED


async def test_an_idle_store_is_looked_at_once_a_minute() -> None:
    world = await busy_world()
    process = world.process()
    upkeep = CassandraUpkeep(process.context)
    assert [await upkeep.fold(4) for _ in range(2)] == [4, 2]
    before = process.rows.verbs
    assert [await upkeep.fold(4) for _ in range(9)] == [0] * 9
    assert process.rows.verbs == before
    world.clock.advance(CLOSED + MOMENT)
    assert await upkeep.fold(4) == 1


def test_totals_are_read_as_they_were_written() -> None:
    totals = Totals(added=3, started=2, running=-1, waited=timedelta(seconds=1.5), ended={State.DEAD: 1})
    assert Totals.from_json(totals.to_json()) == totals
    assert totals.plus(Totals()) == totals
