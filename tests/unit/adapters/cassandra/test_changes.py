from datetime import timedelta
from uuid import UUID

from mainspring.adapters.cassandra.arrivals import Arrivals
from mainspring.adapters.cassandra.changes import DEEPER, KEPT, CassandraChanges
from mainspring.adapters.cassandra.layout import TRAIL
from mainspring.adapters.cassandra.ledger import Ledger, Noted
from mainspring.adapters.cassandra.records import new_row
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import insert
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.domain.run import Origin, State
from mainspring.ports.changes import Position
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory
from tests.unit.adapters.cassandra.world import Process, World

SECOND = timedelta(seconds=1)


async def written_late(world: World, process: Process, late: timedelta) -> UUID:
    """A run whose entry in the log comes to light long after its time."""
    run = world.make.run()
    await insert(process.context, [new_row(run, kind=Origin.IMMEDIATE, now=process.context.now())])
    slow = ManualClock(world.clock.now() - late)
    noted = Noted(id=run.id, owner=run.owner, fence=0, state=State.WAITING, job_id=run.job_id)
    await Ledger(process.context.rows, slow, world.make.id()).note([noted])
    return run.id


async def follow(changes: CassandraChanges, position: Position, world: World, seconds: int) -> list[UUID]:
    """What somebody is told who looks every second."""
    told: list[UUID] = []
    for _ in range(seconds):
        world.clock.advance(SECOND)
        batch = await changes.since(position, most=100)
        assert batch is not None
        told += [run.id for run in batch.runs]
        position = batch.position
    return told


async def test_a_change_that_comes_to_light_late_is_told_once() -> None:
    world = World()
    process = world.process()
    changes = CassandraChanges(process.context)
    position = await changes.position()
    world.clock.advance(TRAIL)
    run_id = await written_late(world, process, TRAIL - 2 * DEEPER)
    assert await follow(changes, position, world, 40) == [run_id]


async def test_every_follower_of_a_process_is_told_of_it() -> None:
    world = World()
    process = world.process()
    changes = CassandraChanges(process.context)
    first = second = await changes.position()
    run_id = await written_late(world, process, timedelta(seconds=5))
    told: list[list[UUID]] = [[], []]
    for _ in range(30):
        world.clock.advance(SECOND / 2)
        for number, position in enumerate((first, second)):
            batch = await changes.since(position, most=100)
            assert batch is not None
            told[number] += [run.id for run in batch.runs]
            first, second = (batch.position, second) if number == 0 else (first, batch.position)
    assert told == [[run_id], [run_id]]


async def test_whoever_comes_from_another_process_misses_nothing_and_hears_little_twice() -> None:
    world = World()
    here, there = (CassandraStore(world.process().context) for _ in range(2))
    runs = world.make.runs(4)
    position = await here.changes.position()
    await here.work.add(runs[:1])
    batch = await here.changes.since(position, most=100)
    assert batch is not None
    world.clock.advance(SECOND)
    await here.work.add(runs[1:2])
    moved = await there.changes.since(batch.position, most=100)
    assert moved is not None
    assert [run.id for run in moved.runs] == [runs[0].id, runs[1].id]
    again = await there.changes.since(moved.position, most=100)
    assert again is not None
    assert not again.runs


async def test_a_position_is_good_for_as_long_as_the_log_is_kept() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    position = await store.changes.position()
    run = world.make.run()
    world.clock.advance(SECOND)
    await store.work.add([run])
    world.clock.advance(KEPT - 2 * SECOND)
    batch = await store.changes.since(position, most=100)
    assert batch is not None
    assert [told.id for told in batch.runs] == [run.id]
    world.clock.advance(SECOND)
    assert await store.changes.since(position, most=100) is None


async def test_under_a_load_that_nobody_follows_only_the_newer_half_is_remembered() -> None:
    make, arrivals = Factory(), Arrivals(most=10)
    rows: list[Row] = [{"at": at, "id": make.id(), "fence": 0, "state": 0} for at in range(30)]
    for start in range(0, 30, 3):
        arrivals.take(rows[start : start + 3])
    remembered = arrivals.after(0)
    assert remembered == rows[-len(remembered) :]
    assert 5 <= len(remembered) <= 10
    arrivals.take(rows)
    assert (arrivals.count, arrivals.after(0)) == (30, remembered)
