"""Tickets where no answer comes, others come in between, clocks differ or a process dies."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import slot_of
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.cassandra.tables import DUE
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import RunId, SessionId
from mainspring.domain.outcome import Failed, Lost, Settled, Succeeded
from mainspring.domain.run import Attempt
from mainspring.domain.ticket import Ticket
from mainspring.ports.tickets import GRACE
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import a_session
from mainspring.testing.rows.dictionary import DictionaryRows
from mainspring.testing.virtual_time import SeededRandom
from tests.unit.adapters.cassandra.cluster import AFTER_AN_AUDIT, LANES, TTL, Cluster, Process
from tests.unit.adapters.cassandra.faults import Died, Fate

MOST_VERBS = 50
LONG = timedelta(hours=1)
MOMENT = timedelta(milliseconds=5)


async def take(process: Process, grace: timedelta = GRACE) -> Sequence[Ticket]:
    return await process.store.tickets.take(LANES, 500, grace)


async def start(process: Process, by: SessionId, ticket: Ticket) -> Attempt | None:
    (attempt,) = await process.store.tickets.start(by, [ticket])
    return attempt


async def one_run(cluster: Cluster) -> RunId:
    new = cluster.make.run()
    await cluster.process().store.work.add([new])
    return new.id


@pytest.mark.parametrize("fate", Fate)
async def test_a_ticket_is_given_out_once_and_good_although_no_answer_came(fate: Fate) -> None:
    cluster = Cluster()
    process, other = cluster.process(), cluster.process()
    run = await one_run(cluster)
    worker = await process.session()
    process.rows.fates = [fate]
    (ticket,) = await take(process)
    assert not await take(other)
    process.rows.fates = [fate]
    attempt = await start(process, worker, ticket)
    assert attempt is not None
    assert attempt.run_id == run
    assert await start(other, await other.session(), ticket) is None
    assert await process.settle(attempt, Succeeded()) is Settled.ACCEPTED


async def test_what_another_has_taken_in_the_same_instant_is_not_taken_for_ones_own() -> None:
    cluster = Cluster()
    process, other = cluster.process(), cluster.process()
    await one_run(cluster)
    theirs: list[Ticket] = []

    async def others_take() -> None:
        theirs.extend(await take(other))

    process.rows.unheard(Fate.DROPPED, others_take)
    assert not await take(process)
    assert len(theirs) == 1


async def test_a_claim_that_looked_before_the_ticket_was_given_out_leaves_the_run_to_it() -> None:
    cluster = Cluster()
    process, other = cluster.process(), cluster.process()
    await one_run(cluster)
    worker = await process.session()
    given_out: list[Ticket] = []

    async def others_take() -> None:
        given_out.extend(await take(other))

    process.rows.before_deciding = others_take
    assert not await process.claim(worker)
    (ticket,) = given_out
    assert await start(process, worker, ticket) is not None


async def test_a_worker_whose_clock_is_behind_starts_what_was_given_out() -> None:
    cluster = Cluster()
    await one_run(cluster)
    (ticket,) = await take(cluster.process())
    clock = ManualClock(cluster.clock.now() - MOMENT)
    behind = CassandraStore.over(DictionaryRows(cluster.dictionary, clock), clock=clock, random=SeededRandom(9))
    worker = await behind.sessions.open(a_session("behind"))
    assert not (await behind.work.claim(worker, LANES, 1)).attempts
    (attempt,) = await behind.tickets.start(worker, [ticket])
    assert attempt is not None


async def test_whoever_dies_while_it_takes_costs_a_run_its_grace() -> None:
    for verbs in range(MOST_VERBS):
        cluster = Cluster()
        run = await one_run(cluster)
        try:
            await take(cluster.process(verbs_left=verbs))
        except Died:
            survived = False
        else:
            survived = True
        other = cluster.process()
        worker = await other.session(ttl=LONG)
        cluster.clock.advance(GRACE)
        assert [attempt.run_id for attempt in await other.claim(worker)] == [run], f"died after {verbs}"
        if survived:
            return
    pytest.fail("it never came to its end")


async def test_whoever_dies_while_it_starts_a_run_is_rescued_from() -> None:
    for verbs in range(MOST_VERBS):
        cluster = Cluster()
        run = await one_run(cluster)
        (ticket,) = await take(cluster.process())
        process, other = cluster.process(), cluster.process()
        worker = await process.session(ttl=TTL)
        process.rows.verbs_left = verbs
        try:
            attempt = await start(process, worker, ticket)
        except Died:
            attempt = None
        cluster.clock.advance(max(GRACE, TTL))
        await other.rescue()
        heir = await other.session(ttl=LONG)
        assert [each.run_id for each in await other.claim(heir)] == [run], f"died after {verbs}"
        assert await start(other, heir, ticket) is None
        if attempt is not None:
            return
    pytest.fail("it never came to its end")


async def test_an_audit_lists_a_run_again_for_when_its_grace_ends() -> None:
    cluster = Cluster()
    process = cluster.process()
    run = await one_run(cluster)
    await take(process, LONG)
    context = Context.over(process.rows, clock=cluster.clock, random=SeededRandom(8))
    row = (await read(context, [run]))[run]
    minute = slot_of(number(row, "indexed_at"))
    await context.rows.delete_range(DUE, (row["shard"], row["lane"], minute))
    worker = await process.session(ttl=2 * LONG)
    cluster.clock.advance(AFTER_AN_AUDIT)
    assert await process.store.sessions.audit() == 1
    assert not await process.claim(worker)
    assert not await take(process)
    cluster.clock.advance(LONG)
    assert [attempt.run_id for attempt in await process.claim(worker)] == [run]


async def test_a_late_result_puts_a_run_back_where_it_is_found_although_a_ticket_was_given_out_meanwhile() -> None:
    cluster = Cluster()
    process, again, other = cluster.process(), cluster.process(), cluster.process()
    await one_run(cluster)
    (attempt,) = await process.claim(await process.session())
    await other.settle(attempt, Lost())
    again.rows.before_deciding = lambda: take(other)
    assert await again.settle(attempt, Failed(error="late", retry_after=timedelta(0))) is Settled.ACCEPTED
    assert len(await take(other)) == 1


async def test_a_claim_passes_over_what_tickets_have_started_by_the_hundred() -> None:
    cluster = Cluster()
    process = cluster.process()
    count = 300
    await process.store.work.add(cluster.make.runs(count))
    worker = await process.session()
    attempts = await process.store.tickets.start(worker, await take(process))
    assert None not in attempts
    verbs = process.rows.verbs
    assert not await process.claim(worker)
    assert process.rows.verbs - verbs < count
