"""Claims by the copies of new runs: as good as the rows, and never believed where those have changed."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.layout import home_of, micros
from mainspring.adapters.cassandra.rows import Key, Put, Row
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import DUE, RUN
from mainspring.domain.outcome import Failed, Settled, Succeeded
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Attempt, NewRun
from mainspring.ports.tickets import GRACE
from mainspring.ports.work import Edit
from mainspring.testing.factories import a_task
from tests.unit.adapters.cassandra.cluster import LANES, Cluster, Process, a_trusting_worker, neighbours

LATER = timedelta(seconds=10)


def rows_read(process: Process, monkeypatch: pytest.MonkeyPatch) -> list[Key]:
    """The runs that *process* reads from now on."""
    read: list[Key] = []
    inner = process.rows.get

    async def get(table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False) -> Sequence[Row]:
        read.extend(keys if table is RUN else ())
        return await inner(table, partition, keys, settled=settled)

    monkeypatch.setattr(process.rows, "get", get)
    return read


async def without_copies(cluster: Cluster, runs: Sequence[NewRun], monkeypatch: pytest.MonkeyPatch) -> None:
    """Store *runs* as a program does that knows no copies."""
    older = cluster.process()
    write = older.rows.put

    async def put(puts: Sequence[Put]) -> None:
        await write(
            [Put(table=each.table, row={**each.row, "copy": None}) if each.table is DUE else each for each in puts]
        )

    monkeypatch.setattr(older.rows, "put", put)
    await older.store.work.add(runs)


async def claimed(cluster: Cluster, runs: Sequence[NewRun]) -> Sequence[Attempt]:
    process, worker = await a_trusting_worker(cluster)
    await cluster.process().store.work.add(runs)
    return await process.claim(worker)


async def test_new_runs_are_claimed_and_settled_without_a_read_of_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    await cluster.process().store.work.add(neighbours(5))
    read = rows_read(process, monkeypatch)
    attempts = await process.claim(worker)
    assert len(attempts) == 5
    for attempt in attempts:
        assert await process.settle(attempt, Succeeded()) is Settled.ACCEPTED
    assert not read


async def test_a_claim_by_a_copy_tells_all_that_a_claim_by_the_row_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    retry = RetryPolicy(max_retries=7, initial=timedelta(seconds=3))
    task = a_task(payload=b'{"a":\n1}', priority=70, timeout=timedelta(seconds=9), retry=retry)
    run, other = neighbours(2)
    runs = [
        NewRun(id=run.id, job_id=other.job_id, task=task, owner="o", project="p", name="n"),
        NewRun(id=other.id, job_id=other.job_id, task=a_task(payload=b"")),
    ]
    by_copy = await claimed(Cluster(), runs)
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    await without_copies(cluster, runs, monkeypatch)
    read = rows_read(process, monkeypatch)
    assert by_copy == await process.claim(worker)
    assert len(read) == len(by_copy) == 2


async def test_a_large_run_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    (run,) = neighbours(1)
    await process.store.work.add([NewRun(id=run.id, job_id=run.job_id, task=a_task(payload=b"1" * 2_000))])
    read = rows_read(process, monkeypatch)
    (attempt,) = await process.claim(worker)
    assert attempt.task.payload == b"1" * 2_000
    assert read == [(run.id,)]


async def test_what_was_edited_since_the_copy_was_read_is_not_executed_as_it_was() -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    runs = neighbours(3)
    person = cluster.process()
    await person.store.work.add(runs)

    async def edit() -> None:
        await person.store.work.steer(runs[1].id, Edit(task=a_task(handler="edited")))

    process.rows.before_deciding = edit
    attempts = [*await process.claim(worker), *await process.claim(worker)]
    assert sorted(attempt.run_id for attempt in attempts) == [run.id for run in runs]
    assert [attempt.run_id for attempt in attempts if attempt.task.handler == "edited"] == [runs[1].id]


async def test_a_run_whose_ticket_was_given_out_since_its_copy_was_read_is_left_to_it() -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    broker = cluster.process()
    await broker.store.work.add(neighbours(1))

    async def take() -> None:
        assert len(await broker.store.tickets.take(LANES, 10, GRACE)) == 1

    process.rows.before_deciding = take
    assert not await process.claim(worker)
    cluster.clock.advance(GRACE)
    assert len(await process.claim(worker)) == 1


async def test_a_copy_that_comes_before_its_row_is_believed_once_the_row_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    adding = cluster.process()
    write = adding.rows.put

    async def put(puts: Sequence[Put]) -> None:
        if any(each.table is RUN for each in puts):
            assert not await process.claim(worker)
        await write(puts)

    monkeypatch.setattr(adding.rows, "put", put)
    await adding.store.work.add(neighbours(1))
    assert len(await process.claim(worker)) == 1


async def test_of_two_that_stored_a_run_the_later_time_counts_whatever_the_copy_says() -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    (run,) = neighbours(1)
    await cluster.process().store.work.add([run])
    shard, slot = home_of(run.id)
    at = micros(cluster.clock.now() + LATER)
    later: Row = {"shard": shard, "slot": slot, "id": run.id, "wake_at": at, "due_at": at, "indexed_at": at}
    await process.rows.put([Put(table=RUN, row=later, original=True)])
    assert not await process.claim(worker)


async def test_a_retry_is_claimed_by_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    await process.store.work.add(neighbours(1))
    (attempt,) = await process.claim(worker)
    assert await process.settle(attempt, Failed(error="no")) is Settled.ACCEPTED
    cluster.clock.advance(timedelta(hours=1))
    read = rows_read(process, monkeypatch)
    (again,) = await process.claim(worker)
    assert (again.attempt, again.failures) == (2, 1)
    assert read == [(attempt.run_id,)]
