"""What a claim chooses, and what it looks up before."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.layout import SHARDS, home_of, shard_of
from mainspring.adapters.cassandra.rows import Put
from mainspring.adapters.cassandra.tables import CLAIM_INTENT, RUN
from mainspring.adapters.cassandra.values import content
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.run import State
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
