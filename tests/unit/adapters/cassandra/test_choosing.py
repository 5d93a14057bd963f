"""What a claim chooses and looks up, and what overlaps in a large one."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.choosing import LARGE
from mainspring.adapters.cassandra.layout import SHARDS, home_of, shard_of
from mainspring.adapters.cassandra.rows import Key, Put, Row
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import CLAIM_INTENT, RUN
from mainspring.adapters.cassandra.values import content
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.run import State
from mainspring.ports.work import Edit
from mainspring.testing.factories import a_task
from tests.unit.adapters.cassandra.cluster import Cluster, claimed_and_settled, everybody_has_had_a_turn, neighbours

SECOND = timedelta(seconds=1)


async def test_no_batch_leaves_before_the_intent_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(1))
    session = await process.session()
    put, written = process.rows.put, asyncio.Event()

    async def slowly(puts: Sequence[Put]) -> None:
        if puts[0].table is CLAIM_INTENT:
            await written.wait()
        await put(puts)

    monkeypatch.setattr(process.rows, "put", slowly)
    claiming = asyncio.ensure_future(process.claim(session))
    await everybody_has_had_a_turn()
    (row,) = await cluster.process().rows.slice(RUN, home_of(neighbours(1)[0].id), limit=1)
    assert row["state"] == State.WAITING
    written.set()
    assert len(await claiming) == 1


async def test_what_was_read_ahead_and_changed_since_is_handed_over_as_it_is() -> None:
    cluster = Cluster()
    process = cluster.process()
    runs = neighbours(2 * LARGE)
    await process.store.work.add(runs)
    session = await process.session()
    first = await process.claim(session, LARGE)
    changed = next(run for run in runs if run.id not in {attempt.run_id for attempt in first})
    cluster.clock.advance(timedelta(milliseconds=1))
    await cluster.process().store.work.steer(changed.id, Edit(task=a_task(payload=b'"changed"')))
    second = [*await process.claim(session, LARGE), *await process.claim(session, LARGE)]
    assert {attempt.run_id for attempt in (*first, *second)} == {run.id for run in runs}
    assert [each.task.payload for each in second if each.run_id == changed.id] == [b'"changed"']


async def test_what_was_read_ahead_isnt_read_again() -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(2 * LARGE))
    session = await process.session()
    await process.claim(session, LARGE)
    asked: list[Table] = []
    get = process.rows.inner.get

    async def noticed(
        table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        asked.append(table)
        return await get(table, partition, keys, settled=settled)

    process.rows.inner.get = noticed  # type: ignore[method-assign]  # only here
    assert len(await process.claim(session, LARGE)) == LARGE
    assert RUN not in asked


async def test_whoever_follows_a_killed_worker_neednt_rest_before_it_finds_what_waits_behind_its_entries() -> None:
    cluster = Cluster()
    killed = cluster.process()
    await killed.store.work.add(neighbours(1_000))
    before = await killed.session("killed")
    for _ in range(10):
        await claimed_and_settled(killed, before, 99)
    heir = cluster.process()
    session = await heir.session()
    claim = await heir.store.work.claim(session, [DEFAULT_LANE], 1)
    while not claim.attempts:
        assert claim.next_in == timedelta(0)
        claim = await heir.store.work.claim(session, [DEFAULT_LANE], 1)
    assert claim.attempts


async def test_a_small_claim_from_a_backlog_takes_neighbours() -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(cluster.make.runs(10 * SHARDS))
    attempts = await process.claim(await process.session(), 4)
    assert (len(attempts), len({shard_of(attempt.run_id) for attempt in attempts})) == (4, 1)


async def test_a_small_claim_takes_nobody_before_those_that_have_waited_longer() -> None:
    cluster = Cluster()
    process = cluster.process()
    older, younger = cluster.make.runs(5 * SHARDS), cluster.make.runs(5 * SHARDS)
    await process.store.work.add(older)
    cluster.clock.advance(SECOND)
    await process.store.work.add(younger)
    session = await process.session()
    attempts = [attempt for _ in range(SHARDS) for attempt in await process.claim(session, 5)]
    assert {attempt.run_id for attempt in attempts} == {run.id for run in older}


async def test_what_others_have_taken_is_passed_over_without_an_intent() -> None:
    cluster = Cluster()
    other = cluster.process()
    await other.store.work.add(neighbours(60))
    await claimed_and_settled(other, await other.session("other"), 50)
    process = cluster.process()
    session = await process.session()
    assert len(await process.claim(session, 2)) == 2
    (intent,) = await process.rows.slice(CLAIM_INTENT, (session,), limit=100)
    assert len(content(intent, "runs")) == 2 * 16
