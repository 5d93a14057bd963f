from datetime import timedelta
from uuid import UUID

import pytest

from mainspring.adapters.cassandra import paging, ready
from mainspring.adapters.cassandra.looking import Look, Looked, beside
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.cassandra.values import identity
from mainspring.domain.run import NewRun
from mainspring.ports.views import Cursor, JobFilter, RunFilter
from mainspring.testing.contracts.base import added
from mainspring.testing.factories import Factory
from tests.unit.adapters.cassandra.world import World

MONTH = timedelta(days=31)


async def over_months(world: World, store: CassandraStore) -> list[NewRun]:
    """Runs of two owners in five months, oldest first."""
    runs: list[NewRun] = []
    for _ in range(5):
        make = Factory(start=world.clock.now(), seed=len(runs))
        runs += [make.run(owner="ann" if number % 3 else "ben", due=MONTH * 12) for number in range(12)]
        await added(store, *runs[-12:])
        world.clock.advance(MONTH)
    return runs


@pytest.mark.parametrize("limit", [1, 7, 60])
async def test_a_walk_goes_on_from_month_to_month(limit: int) -> None:
    world = World()
    store = CassandraStore(world.process().context)
    runs = await over_months(world, store)
    for owner in (None, "ann", "ben"):
        expected = [run.id for run in reversed(runs) if owner in (None, run.owner)]
        found: list[UUID] = []
        before = None
        while True:
            page = await store.views.runs(RunFilter(owner=owner), Cursor(before=before, limit=limit))
            found += [run.id for run in page.items]
            before = page.next
            if before is None:
                break
        assert found == expected


async def test_a_page_examines_a_bounded_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MOST_EXAMINED", 50)
    world = World()
    store = CassandraStore(world.process().context)
    runs = world.make.runs(80)
    await added(store, *runs)
    page = await store.views.runs(RunFilter(handler="nobody's"), Cursor(limit=10))
    assert not page.items
    assert page.next == runs[-50].id
    rest = await store.views.jobs(JobFilter(name="nobody's"), Cursor(before=page.next, limit=10))
    assert not rest.items
    assert rest.next is None or rest.next < page.next


async def test_the_newest_page_costs_no_more_where_there_is_more_history() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    costs: list[int] = []
    for _ in range(3):
        await added(store, *world.make.runs(80))
        process = world.process()
        assert len((await CassandraStore(process.context).views.runs(RunFilter(), Cursor(limit=20))).items) == 20
        costs.append(process.rows.reads)
    assert costs[2] <= 2 * costs[0]


async def test_what_is_due_is_counted_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "MOST_COUNTED", 20)
    world = World()
    store = CassandraStore(world.process().context)
    await added(store, *world.make.runs(19))
    assert await store.views.due() == 19
    await added(store, *world.make.runs(30))
    assert await store.views.due() == 20


def a_look(*numbers: int) -> Look:
    async def look(before: UUID | None, most: int) -> Looked:
        ids = [UUID(int=number) for number in sorted(numbers, reverse=True)]
        found = [each for each in ids if before is None or each < before][:most]
        return Looked([{"id": each} for each in found], len(found) == most)

    return look


async def test_walks_beside_each_other_are_one() -> None:
    look = beside([a_look(*range(1, 100, 3)), a_look(2, 3, 5, 6, 8), a_look(), a_look(100, 50)])
    expected = sorted({*range(1, 100, 3), 2, 3, 5, 6, 8, 100, 50}, reverse=True)
    before: UUID | None = None
    found: list[int] = []
    more = True
    while more:
        looked = await look(before, 5)
        found += [identity(row, "id").int for row in looked.rows]
        before, more = UUID(int=found[-1]), looked.more
    assert found == expected
