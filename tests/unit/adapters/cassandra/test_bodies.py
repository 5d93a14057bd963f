"""Bodies of runs: one column instead of many, whatever it was before, and whoever wrote it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra import bodies, index
from mainspring.adapters.cassandra.bodies import body_of, columns_of
from mainspring.adapters.cassandra.layout import home_of, micros
from mainspring.adapters.cassandra.records import new_row
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.tables import RUN
from mainspring.domain.ids import BlobId
from mainspring.domain.outcome import Settled, Succeeded
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import NewRun, Origin
from mainspring.ports.work import Edit
from mainspring.testing.clock import START
from mainspring.testing.factories import a_task
from tests.unit.adapters.cassandra.cluster import Cluster, Process, a_trusting_worker, neighbours

CELLS_OF_A_NEW_RUN = {"due_at", "state", "wake_at", "indexed_at", "version", "fence", "body"}


async def stored(process: Process, run: NewRun) -> Row:
    """The row as it lies there, past whoever knows bodies."""
    (row,) = await process.rows.get(RUN, home_of(run.id), [(run.id,)])
    return row


async def stored_before_there_were_bodies(
    cluster: Cluster, runs: Sequence[NewRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(bodies, "_folded", lambda put: put)
        older.setattr(index, "copied", lambda _row: b'{"owner":"default","kind":0,"handler":"lies","timeout":1}\n')
        await cluster.process().store.work.add(runs)


async def test_a_new_run_lies_in_a_handful_of_columns() -> None:
    process = Cluster().process()
    (run,) = neighbours(1)
    await process.store.work.add([run])
    row = await stored(process, run)
    assert {name for name in RUN.columns if row[name] is not None} == CELLS_OF_A_NEW_RUN


@pytest.mark.parametrize("standing", [False, True], ids=["one-shot", "standing"])
@pytest.mark.parametrize("in_a_blob", [False, True], ids=["inline", "in a blob"])
def test_a_body_says_all_that_its_columns_say(standing: bool, in_a_blob: bool) -> None:
    run, job = neighbours(2)
    retry = RetryPolicy(max_retries=7, initial=timedelta(seconds=3))
    task = a_task(payload=b'{"a":\n1}', priority=70, timeout=timedelta(seconds=9), retry=retry)
    if in_a_blob:
        task = replace(task, payload=b"", blob=BlobId("abc"))
    row = new_row(
        NewRun(id=run.id, job_id=job.job_id if standing else run.job_id, task=task, owner="ö", project="p"),
        kind=Origin.RECURRING,
        now=micros(START),
    )
    columns = columns_of(body_of(row), run.id)
    assert columns == {name: row[name] for name in columns}
    assert columns.keys() == bodies._COLUMNS


def test_of_two_that_stored_a_run_the_later_ones_body_is_the_greater() -> None:
    (run,) = neighbours(1)
    task = a_task(payload=b"\xff")
    earlier = new_row(NewRun(id=run.id, job_id=run.job_id, task=task), kind=Origin.IMMEDIATE, now=micros(START))
    later = {**earlier, "created_at": micros(START) + 1, "payload": b""}
    assert body_of(later) > body_of(earlier)


async def test_a_run_from_before_is_executed_as_its_columns_say(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process, worker = await a_trusting_worker(cluster)
    runs = neighbours(2)
    await stored_before_there_were_bodies(cluster, runs, monkeypatch)
    assert (await stored(process, runs[0]))["handler"] == runs[0].task.handler
    attempts = await process.claim(worker)
    assert [attempt.task for attempt in attempts] == [run.task for run in runs]
    for attempt in attempts:
        assert await process.settle(attempt, Succeeded()) is Settled.ACCEPTED


async def test_an_edit_of_a_run_from_before_gives_it_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    (run,) = neighbours(1)
    await stored_before_there_were_bodies(cluster, [run], monkeypatch)
    task = a_task(handler="edited", payload=b"2")
    await process.store.work.steer(run.id, Edit(task=task))
    (attempt,) = await process.claim(await process.session())
    assert (attempt.task, attempt.owner, attempt.job_id) == (task, run.owner, run.job_id)


async def test_an_edit_takes_away_what_the_run_no_longer_has() -> None:
    process = Cluster().process()
    (run,) = neighbours(1)
    blob = BlobId("abc")
    retry = RetryPolicy(max_retries=7)
    await process.store.work.add([replace(run, task=replace(a_task(retry=retry), payload=b"", blob=blob))])
    await process.store.work.steer(run.id, Edit(task=a_task(payload=b"2")))
    row = await stored(process, run)
    assert {name for name in RUN.columns if row[name] is not None} == CELLS_OF_A_NEW_RUN
    (attempt,) = await process.claim(await process.session())
    assert attempt.task == a_task(payload=b"2")


async def test_an_edit_of_the_time_leaves_the_body_alone() -> None:
    cluster = Cluster()
    process = cluster.process()
    (run,) = neighbours(1)
    await process.store.work.add([run])
    before = (await stored(process, run))["body"]
    await process.store.work.steer(run.id, Edit(due=cluster.clock.now() + timedelta(seconds=1)))
    assert (await stored(process, run))["body"] == before
    cluster.clock.advance(timedelta(seconds=1))
    (attempt,) = await process.claim(await process.session())
    assert attempt.task == run.task
