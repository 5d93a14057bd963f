"""Claims over the due index: who competes, what is late, what was left out, and what it all costs."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import pytest

from mainspring.adapters.cassandra import claim, due, intents, seize
from mainspring.adapters.cassandra.layout import SHARDS, micros, slot_of
from mainspring.adapters.cassandra.rows import ALL, Change, Key, Put, Row, Span
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import CLAIM_INTENT, DUE, DUE_SLOT, SESSION, SESSION_OF
from mainspring.domain.ids import DEFAULT_LANE, Fence, RunId
from mainspring.domain.outcome import Failed, Settled, Succeeded, judge
from mainspring.domain.run import NewRun
from mainspring.errors import StoreUnavailable
from mainspring.ports.sessions import News
from mainspring.ports.work import Edit
from mainspring.testing.clock import START
from mainspring.testing.factories import a_task
from tests.unit.adapters.cassandra.cluster import (
    AFTER_AN_AUDIT,
    HOME,
    TTL,
    Cluster,
    Process,
    claimed_and_settled,
    neighbours,
)

SECOND = timedelta(seconds=1)


async def entries(cluster: Cluster, table: Table, partition: Key) -> Sequence[Row]:
    return await cluster.process().rows.slice(table, partition, limit=10_000)


async def due_entries(cluster: Cluster) -> Sequence[Row]:
    return await entries(cluster, DUE, (HOME, DEFAULT_LANE, slot_of(micros(START))))


async def a_minute_of_runs(cluster: Cluster, count: int) -> Sequence[NewRun]:
    runs = cluster.make.runs(count)
    await cluster.process().store.work.add(runs)
    cluster.clock.advance(timedelta(minutes=1))
    return runs


async def test_claimers_that_meet_at_one_home_share_nothing_and_leave_nothing() -> None:
    cluster = Cluster()
    runs = neighbours(120)
    await cluster.process().store.work.add(runs)
    processes = [cluster.process(chance=Random(seed)) for seed in range(3)]
    sessions = [await process.session(f"worker-{number}") for number, process in enumerate(processes)]
    taken: list[UUID] = []
    for _ in range(len(runs)):
        hands = await asyncio.gather(
            *(process.claim(session, 30) for process, session in zip(processes, sessions, strict=True))
        )
        taken += [attempt.run_id for attempts in hands for attempt in attempts]
        if not any(hands):
            break
    assert sorted(taken) == [run.id for run in runs]


async def test_a_claim_costs_three_reads_while_nothing_is_due_whatever_waits_for_later() -> None:
    cluster = Cluster()
    process = cluster.process()
    worker = await process.session()
    for waiting in (0, 50):
        await process.store.work.add([cluster.make.run(due=timedelta(days=1)) for _ in range(waiting)])
        await process.claim(worker)
        process.rows.reads = 0
        cluster.clock.advance(SECOND)
        assert not await process.claim(worker)
        assert process.rows.reads <= 3


async def test_a_claim_reads_no_more_of_the_directory_however_many_minutes_have_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    process = cluster.process()
    worker = await process.session()
    runs = [cluster.make.run(due=timedelta(minutes=number // 8)) for number in range(8, 8 * 30)]
    await process.store.work.add(runs)
    listed = _counting_listed(process, monkeypatch)
    claim = await process.store.work.claim(worker, [DEFAULT_LANE], 10)
    assert (len(claim.attempts), claim.next_in) == (0, timedelta(minutes=1))
    assert sum(listed) <= 3 * SHARDS


async def test_where_nothing_was_ready_the_next_claim_lists_a_handful_of_what_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    process = cluster.process()
    worker = await process.session()
    await process.store.work.add([cluster.make.run(due=timedelta(minutes=5)) for _ in range(8 * SHARDS)])
    first = await process.store.work.claim(worker, [DEFAULT_LANE], 10)
    cluster.clock.advance(SECOND)
    listed = _counting_listed(process, monkeypatch)
    second = await process.store.work.claim(worker, [DEFAULT_LANE], 10)
    assert (first.next_in, second.next_in) == (timedelta(minutes=5), timedelta(minutes=5) - SECOND)
    assert sum(listed) <= 8


async def test_a_claim_that_glances_finds_all_that_became_ready_and_all_that_comes_sooner() -> None:
    cluster = Cluster()
    process, other = cluster.process(), cluster.process()
    worker = await process.session()
    await process.store.work.add([cluster.make.run(due=timedelta(minutes=9)) for _ in range(8 * SHARDS)])
    assert not await process.claim(worker)
    await other.store.work.add([cluster.make.run(due=timedelta(minutes=4))])
    sooner = await process.store.work.claim(worker, [DEFAULT_LANE], 10)
    assert sooner.next_in == timedelta(minutes=4)
    ready = cluster.make.runs(2 * SHARDS)
    await other.store.work.add(ready)
    taken = [attempt.run_id for attempt in await process.claim(worker, 4 * SHARDS)]
    assert sorted(taken) == sorted(run.id for run in ready)


async def test_a_backlog_of_more_minutes_than_a_look_takes_is_worked_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "_AT_FIRST", 4)
    monkeypatch.setattr(due, "MOST_MINUTES", 8)
    cluster = Cluster()
    runs = [run for _ in range(12) for run in await a_minute_of_runs(cluster, 4)]
    process = cluster.process()
    worker = await process.session()
    taken: list[UUID] = []
    for _ in runs:
        taken += [attempt.run_id for attempt in await process.claim(worker)]
        cluster.clock.advance(3 * SECOND)
    assert sorted(taken) == sorted(run.id for run in runs)


async def test_what_was_claimed_here_is_settled_by_one_batch_and_no_read() -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(100))
    attempts = await process.claim(await process.session(), 100)
    verdicts = [judge(attempt, Succeeded(), now=attempt.started_at, uniform=0.0) for attempt in attempts]
    process.rows.reads = process.rows.verbs = 0
    await process.store.work.settle(verdicts)
    assert (process.rows.reads, process.rows.verbs) == (0, 1)
    await process.store.close()
    assert (process.rows.reads, process.rows.verbs) == (0, 2)  # the ledger, for which nobody waited


async def test_a_large_claim_from_a_large_backlog_takes_whole_batches() -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(cluster.make.runs(1_000))
    attempts = await process.claim(await process.session(), 50)
    assert len(attempts) == 50
    assert len({attempt.run_id.int % SHARDS for attempt in attempts}) <= 2


async def test_the_entry_that_an_edit_takes_away_late_is_not_the_one_that_it_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    process = cluster.process()
    (run,) = neighbours(1)
    await process.store.work.add([run])
    late: list[tuple[Table, Key, Span]] = []

    async def postponed(table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        assert until is None
        late.append((table, partition, span))

    with monkeypatch.context() as patched:
        patched.setattr(process.rows, "delete_range", postponed)
        await process.store.work.steer(run.id, Edit(name="edited"))
    assert len(late) == 1
    for table, partition, span in late:
        await process.rows.delete_range(table, partition, span)
    assert len(await process.claim(await process.session())) == 1


async def test_a_run_whose_entry_was_left_out_is_found_by_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    (run,) = neighbours(1)
    write = process.rows.put

    async def forgetful(puts: Sequence[Put]) -> None:
        await write([put for put in puts if put.table is not DUE])

    with monkeypatch.context() as patched:
        patched.setattr(process.rows, "put", forgetful)
        await process.store.work.add([run])
    worker = await process.session()
    assert not await process.claim(worker)
    assert await process.store.sessions.audit() == 0
    cluster.clock.advance(AFTER_AN_AUDIT)
    assert await process.store.sessions.audit() == 1
    assert await process.store.sessions.audit() == 0
    assert len(await process.claim(worker)) == 1


async def test_a_backlog_is_no_repair() -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(3))
    cluster.clock.advance(AFTER_AN_AUDIT)
    assert await process.store.sessions.audit() == 0
    assert len(await due_entries(cluster)) == 3


@pytest.mark.parametrize("busy", [10, 400])
async def test_an_entry_that_lands_behind_what_was_read_is_found_all_the_same(
    monkeypatch: pytest.MonkeyPatch, busy: int
) -> None:
    cluster = Cluster()
    process, slow = cluster.process(), cluster.process()
    *others, late = neighbours(busy + 1)
    write = slow.rows.put
    underway: list[Put] = []

    async def put_off(puts: Sequence[Put]) -> None:
        underway.extend(put for put in puts if put.table is DUE)
        await write([put for put in puts if put.table is not DUE])

    monkeypatch.setattr(slow.rows, "put", put_off)
    await slow.store.work.add([late])
    cluster.clock.advance(timedelta(milliseconds=1))
    await process.store.work.add(others)
    worker = await process.session()
    while await claimed_and_settled(process, worker, 50):
        pass
    await write(underway)
    found = 0
    for _ in range(6):
        found += await claimed_and_settled(process, worker, 50)
        cluster.clock.advance(timedelta(seconds=10))
    assert found == 1


async def test_what_is_done_leaves_no_entries_behind() -> None:
    cluster = Cluster()
    process = cluster.process()
    worker = await process.session()
    for run in neighbours(90):
        await process.store.work.add([run])
        assert await claimed_and_settled(process, worker, 1) == 1
        cluster.clock.advance(timedelta(milliseconds=1))
    assert len(await entries(cluster, CLAIM_INTENT, (worker,))) < 90
    cluster.clock.advance(timedelta(minutes=2))
    assert not await claimed_and_settled(process, worker, 1)
    assert not await due_entries(cluster)
    assert not await entries(cluster, DUE_SLOT, (DEFAULT_LANE,))
    await process.store.work.add([cluster.make.run()])
    await claimed_and_settled(process, worker, 1)
    assert len(await entries(cluster, CLAIM_INTENT, (worker,))) <= 1


async def test_merged_intents_name_all_that_is_still_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "_MANY", 3)
    cluster = Cluster()
    process = cluster.process(chance=Random(1))
    await process.store.work.add(neighbours(60))
    worker = await process.session()
    held: dict[RunId, Fence] = {}

    async def keep_one_of_three() -> None:
        for _ in range(8):
            attempts = await process.claim(worker, 3)
            held.update({attempt.run_id: attempt.fence for attempt in attempts[:1]})
            for attempt in attempts[1:]:
                assert await process.settle(attempt, Succeeded()) is Settled.ACCEPTED

    await asyncio.gather(*(keep_one_of_three() for _ in range(4)))
    heard = await cluster.process().store.sessions.beat(worker, News())
    assert heard is not None
    assert heard.held == held
    assert len(held) > 5
    assert len(await entries(cluster, CLAIM_INTENT, (worker,))) < 10


async def test_a_run_that_a_forgotten_session_claimed_is_rescued_after_an_audit() -> None:
    cluster = Cluster()
    process, rescuer = cluster.process(), cluster.process()
    await process.store.work.add(neighbours(1))
    session = await process.session(ttl=TTL)
    (attempt,) = await process.claim(session)
    for table, partition in ((CLAIM_INTENT, (session,)), (SESSION, (session,)), (SESSION_OF, ("worker",))):
        await process.rows.delete_range(table, partition)
    await rescuer.rescue()
    worker = await rescuer.session("another", ttl=timedelta(days=1))
    assert not await rescuer.claim(worker)
    cluster.clock.advance(AFTER_AN_AUDIT)
    for _ in range(2):
        await rescuer.rescue()
    (again,) = await rescuer.claim(worker)
    assert (again.run_id, again.losses) == (attempt.run_id, 1)


async def test_what_was_edited_while_it_was_claimed_is_handed_over_as_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process, person = cluster.process(), cluster.process()
    (run,) = neighbours(1)
    await process.store.work.add([run])
    worker = await process.session()
    decide = process.rows.cas_batch

    async def late(table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        await person.store.work.steer(run.id, Edit(task=a_task(handler="edited")))
        return await decide(table, partition, changes)

    with monkeypatch.context() as patched:
        patched.setattr(process.rows, "cas_batch", late)
        assert not await process.claim(worker)
    (attempt,) = await process.claim(worker)
    assert attempt.task.handler == "edited"


async def test_what_was_handed_over_is_told_though_the_store_fails_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process = cluster.process()
    await process.store.work.add(neighbours(1))
    worker = await process.session()
    cluster.clock.advance(timedelta(minutes=1))
    decide = process.rows.cas_batch

    async def down(*_: object, **__: object) -> None:
        raise StoreUnavailable("nobody answers")

    async def last(table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        answer = await decide(table, partition, changes)
        for verb in ("get", "slice", "put", "delete_range", "cas_batch"):
            monkeypatch.setattr(process.rows, verb, down)
        return answer

    monkeypatch.setattr(process.rows, "cas_batch", last)
    assert len(await process.claim(worker, 10)) == 1


async def test_a_claim_that_lands_after_the_burial_is_still_the_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    process, rescuer = cluster.process(), cluster.process()
    await process.store.work.add(neighbours(1))
    session = await process.session(ttl=TTL)
    decide = process.rows.cas_batch

    async def late(table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        cluster.clock.advance(TTL)
        assert not await rescuer.store.sessions.bury(10)
        return await decide(table, partition, changes)

    monkeypatch.setattr(process.rows, "cas_batch", late)
    (attempt,) = await process.claim(session)
    assert await process.store.sessions.beat(session, News()) is None
    assert list(await rescuer.store.sessions.bury(10)) == [session]
    assert list(await rescuer.store.sessions.held(session, 10)) == [attempt]


async def test_a_session_that_held_nothing_is_forgotten() -> None:
    cluster = Cluster()
    process = cluster.process()
    session = await process.session(ttl=TTL)
    for _ in range(2):
        cluster.clock.advance(timedelta(minutes=1))
        assert not await process.store.sessions.bury(10)
    assert not await entries(cluster, SESSION_OF, ("worker",))
    assert await process.store.sessions.beat(session, News()) is None


async def test_a_clock_that_is_set_back_in_the_middle_of_a_claim_costs_a_run_only_that_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    process = cluster.process()
    worker = await process.session()
    run = cluster.make.run(due=2 * SECOND)
    await process.store.work.add([run])
    cluster.clock.advance(3 * SECOND)
    look = process.rows.slice

    async def set_back(table: Table, partition: Key, span: Span = ALL, **how: Any) -> Sequence[Row]:
        found = await look(table, partition, span, **how)
        if table is DUE:
            cluster.clock.set(START + SECOND)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(process.rows, "slice", set_back)
        assert not await process.claim(worker)
    cluster.clock.advance(2 * SECOND)
    assert [attempt.run_id for attempt in await process.claim(worker)] == [run.id]


async def test_what_was_read_out_of_date_does_not_cost_a_run_the_entry_that_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster()
    process = cluster.process()
    worker, other = await process.session(), cluster.process()
    run = cluster.make.run()
    await process.store.work.add([run])
    before = await read(process.store._context, [run.id])
    (attempt,) = await other.claim(await other.session("other"))
    await other.settle(attempt, Failed(error="no", retry_after=SECOND))
    cluster.clock.advance(2 * SECOND)

    with monkeypatch.context() as patched:
        patched.setattr(claim, "read", AsyncMock(return_value=before))
        patched.setattr(seize, "read_at", AsyncMock(return_value=[*before.values()]))
        assert not await process.claim(worker)
    assert [attempt.run_id for attempt in await process.claim(worker)] == [run.id]


def _counting_listed(process: Process, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many places of the directory each read from now on lists."""
    listed: list[int] = []
    read = process.rows.slice

    async def counted(
        table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        found = await read(table, partition, span, limit=limit, backwards=backwards)
        if table is DUE_SLOT:
            listed.append(len(found))
        return found

    monkeypatch.setattr(process.rows, "slice", counted)
    return listed
