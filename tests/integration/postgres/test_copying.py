"""Many jobs at once are copied; what is stored, and what is answered, is the same as for a few."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.adapters.postgres import add
from mainspring.adapters.postgres.add import WORTH_COPYING
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.domain.ids import BlobId, Lane, RunId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Succeeded
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task
from mainspring.errors import StoreError
from mainspring.ports.audit import Entry
from mainspring.ports.work import Added, Addition
from mainspring.testing.contracts.base import a_worker, claimed, settled
from mainspring.testing.factories import Factory

CREATED, EXISTING = Addition.CREATED, Addition.EXISTING
TALLIES = "SELECT owner, lane, kind, what, amount, cardinality(ids) FROM tally ORDER BY owner, lane, kind, what"


@pytest.fixture
def only_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whatever goes the other way."""
    monkeypatch.setattr(add.Adder, "_announced", None)


async def rows(store: PostgresStore, runs: Sequence[NewRun]) -> list[dict[str, Any]]:
    """All that the queue says about *runs*, but for when."""
    found = await store._engine.fetch("SELECT * FROM queue WHERE id = ANY ($1) ORDER BY id", [run.id for run in runs])
    moments = {"created_at", "due_at", "wake_at"}
    return [
        {name: value for name, value in row.items() if name not in moments}
        | {"at once": row["due_at"] == row["created_at"], "wakes when due": row["wake_at"] == row["due_at"]}
        for row in found
    ]


def of_all_kinds(make: Factory) -> list[NewRun]:
    plain = Task(handler="h")
    rich = Task(
        handler="ü",
        payload=b'{"a": "\xc3\xa4"}',
        blob=BlobId("b" * 64),
        lane=Lane("another"),
        priority=7,
        timeout=timedelta(days=3, hours=2, microseconds=5),
        retry=RetryPolicy(max_retries=1),
        trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    instant = datetime(2031, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    return [
        make.run(task=plain),
        make.run(task=plain, due=timedelta(hours=1, microseconds=1)),
        make.run(task=plain, due=instant),
        make.run(task=plain, due=datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        make.run(task=plain, due=datetime.max.replace(tzinfo=UTC)),
        make.run(task=plain, due=datetime.min.replace(tzinfo=UTC)),
        make.run(task=rich, owner="somebody", project="p", name="n", spec=b"{}"),
    ]


@pytest.mark.usefixtures("only_copied")
async def test_copied_runs_are_answered_in_their_order(store: PostgresStore, make: Factory) -> None:
    runs = make.runs(WORTH_COPYING)[::-1]
    answers = await store.work.add(runs)
    assert [(answer.kind, answer.id) for answer in answers] == [(CREATED, run.id) for run in runs]
    assert {answer.at for answer in answers} == {await store._engine.value("SELECT max(created_at) FROM queue")}


async def test_copied_runs_are_the_same_as_inserted_ones(
    store: PostgresStore, make: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted = of_all_kinds(make)
    await store.work.add(inserted)
    counted = await store._engine.fetch(TALLIES)
    await store._engine.execute("DELETE FROM tally")
    before = await rows(store, inserted)
    dues = await store._engine.fetch("SELECT due_at, due_at - created_at FROM queue ORDER BY id")
    await store._engine.execute("DELETE FROM queue")
    monkeypatch.setattr(add, "WORTH_COPYING", 1)
    monkeypatch.setattr(add.Adder, "_announced", None)
    await store.work.add(inserted)
    assert await rows(store, inserted) == before
    assert await store._engine.fetch(TALLIES) == counted
    again = await store._engine.fetch("SELECT due_at, due_at - created_at FROM queue ORDER BY id")
    relative = [isinstance(run.due, timedelta) for run in inserted]
    for one, other, counts_from_now in zip(dues, again, relative, strict=True):
        assert one[counts_from_now] == other[counts_from_now]


@pytest.mark.usefixtures("only_copied")
async def test_what_the_audit_notes_is_copied_with_it_or_not_at_all(store: PostgresStore, make: Factory) -> None:
    def note(answers: Sequence[Added]) -> Sequence[Entry]:
        raise ZeroDivisionError(len(answers))

    with pytest.raises(ZeroDivisionError, match=str(WORTH_COPYING)):
        await store.work.add(make.runs(WORTH_COPYING), note=note)
    assert await store._engine.value("SELECT count(*) FROM queue") == 0


async def test_a_repeated_batch_stores_what_is_new_and_leaves_alone_what_waits_has_ended_or_stands(
    store: PostgresStore, make: Factory
) -> None:
    ended, waiting, standing = make.run(), make.run(), NewJob(job=make.job())
    worker = await a_worker(store)
    await store.work.add([ended])
    (attempt,) = await claimed(store, worker)
    await settled(store, attempt, Succeeded())
    await store.work.add([waiting, standing])
    plain = make.run()
    as_standing = replace(plain, id=RunId(standing.job.id), job_id=standing.job.id)
    for known in (ended, waiting, as_standing):
        new = make.runs(WORTH_COPYING)
        answers = await store.work.add([*new, known])
        assert [answer.kind for answer in answers] == [*[CREATED] * len(new), EXISTING]
    assert await store._engine.value("SELECT count(*) FROM queue") == 3 * WORTH_COPYING + 1


async def test_a_batch_that_names_a_run_twice_stores_it_once(store: PostgresStore, make: Factory) -> None:
    runs = make.runs(WORTH_COPYING)
    answers = await store.work.add([*runs, runs[0]])
    assert [answer.kind for answer in answers] == [*[CREATED] * len(runs), EXISTING]


async def test_processes_that_add_the_same_at_once_store_it_once(store: PostgresStore, make: Factory) -> None:
    runs = make.runs(WORTH_COPYING)
    answers = await asyncio.gather(*(store.work.add(batch) for batch in (runs, runs[::-1], runs)))
    kinds = [answer.kind for batch in answers for answer in batch]
    assert (kinds.count(CREATED), kinds.count(EXISTING)) == (WORTH_COPYING, 2 * WORTH_COPYING)
    assert await store._engine.value("SELECT sum(amount) FROM tally WHERE what = 'added'") == WORTH_COPYING


@pytest.mark.parametrize("name", ["\ud800", "a\0b"], ids=["half a character", "NUL"])
async def test_text_that_the_server_cannot_keep_is_refused_as_it_is_in_small_batches(
    store: PostgresStore, make: Factory, name: str
) -> None:
    refusals = []
    for count in (0, WORTH_COPYING):
        with pytest.raises(StoreError) as refusal:
            await store.work.add([*make.runs(count), make.run(name=name)])
        refusals.append(type(refusal.value.__cause__))
    assert refusals[0] is refusals[1]
    assert await store._engine.value("SELECT count(*) FROM queue") == 0
