"""The log of changes: many entries in a row, and all of them told."""

from uuid import UUID

from mainspring.adapters.cassandra.packing import MOST_TOGETHER, apart, together
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.domain.run import State
from tests.unit.adapters.cassandra.world import World


def entry(number: int, *, owner: str = "ada", standing: bool = False) -> Row:
    return {
        "slot": 7,
        "part": 1,
        "at": 420_000_000,
        "id": UUID(int=number),
        "fence": number,
        "standing": standing,
        "owner": owner,
        "job_id": None if standing else UUID(int=number + 1000),
        "state": int(State.RUNNING),
    }


def read_back(rows: list[Row]) -> list[Row]:
    """As stores answer: a column that was never written is None."""
    entries = [dict(each) for each in apart([{"others": None, **row} for row in rows])]
    for each in entries:
        del each["others"]
    return sorted(entries, key=lambda each: str(each["id"]))


def test_what_happened_to_an_owners_runs_lies_in_one_row() -> None:
    entries = [entry(number) for number in range(100)]
    rows = list(together(entries))
    assert len(rows) == 1
    assert read_back(rows) == entries


def test_owners_and_standing_jobs_have_rows_of_their_own() -> None:
    entries = [entry(1), entry(2, owner="bob"), entry(3, standing=True), entry(4, standing=True), entry(5)]
    rows = list(together(entries))
    assert len(rows) == 4
    assert read_back(rows) == entries


def test_no_row_grows_beyond_what_a_batch_takes() -> None:
    entries = [entry(number) for number in range(2 * MOST_TOGETHER + 1)]
    assert len(list(together(entries))) == 3
    assert read_back(list(together(entries))) == entries


async def test_followers_are_told_of_every_run_of_a_row_and_of_every_row() -> None:
    world = World()
    store = CassandraStore(world.process().context)
    position = await store.changes.position()
    runs = world.make.runs(30)
    for start in range(0, len(runs), 10):  # in the same instant
        await store.work.add(runs[start : start + 10])
    batch = await store.changes.since(position, most=100)
    assert batch is not None
    assert sorted(run.id for run in batch.runs) == sorted(run.id for run in runs)
