"""Scenarios that the simulation has found, one by one: its seeds mean something else after every change."""

from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.layout import home_of, micros, month_of
from mainspring.adapters.cassandra.records import new_row
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.cassandra.tables import DEAD, RUN
from mainspring.domain.outcome import Failed, HandedBack, Settled, Succeeded, judge
from mainspring.domain.run import NewRun, Origin, State
from mainspring.ports.views import Cursor, DeadFilter
from mainspring.ports.work import Cancel, Effect
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import a_session
from mainspring.testing.rows.cells import ORIGINAL, Partition
from mainspring.testing.rows.cluster import Cluster as Nodes
from mainspring.testing.rows.cluster import Written
from mainspring.testing.rows.dictionary import DictionaryRows
from mainspring.testing.rows.weak import WeakRows
from mainspring.testing.virtual_time import SeededRandom
from tests.simulation.test_weak_rows import SEEN, UNSEEN, Line, Luck
from tests.unit.adapters.cassandra.cluster import LANES, Cluster
from tests.unit.adapters.cassandra.faults import Died, Fate

SOON = timedelta(seconds=30)
MOST_VERBS = 100


async def test_an_entry_that_a_faster_clock_wrote_is_passed_over_though_it_can_not_be_removed() -> None:
    cluster = Cluster()
    ahead = ManualClock(cluster.clock.now() + timedelta(seconds=5))
    fast = CassandraStore.over(DictionaryRows(cluster.dictionary, ahead), clock=ahead, random=SeededRandom(99))
    run = cluster.make.run(due=SOON)
    await fast.work.add([run])
    assert (await cluster.process().store.work.steer(run.id, Cancel())).effect is Effect.DONE
    assert not await cluster.process(verbs_left=MOST_VERBS).store.work.next_wake(LANES)


async def test_an_entry_that_was_read_ahead_is_looked_at_once_and_not_for_ever() -> None:
    cluster = Cluster()
    run = cluster.make.run(due=SOON)
    await cluster.process().store.work.add([run, cluster.make.run()])
    worker = cluster.process(verbs_left=MOST_VERBS)
    session = await worker.session()
    slow = ManualClock(cluster.clock.now() - timedelta(minutes=1))
    late = CassandraStore.over(DictionaryRows(cluster.dictionary, slow), clock=slow, random=SeededRandom(99))
    assert (await late.work.steer(run.id, Cancel())).effect is Effect.DONE
    assert len(await worker.claim(session)) == 1


async def test_whoever_repeats_a_requeue_crosses_its_letter_out() -> None:
    for verbs in range(1, MOST_VERBS):
        cluster = Cluster()
        requeue = await _requeue_of_a_dead_run(cluster)
        died = False
        try:
            await cluster.process(verbs_left=verbs).store.work.add([requeue])
        except Died:
            died = True
        store = cluster.process().store
        await store.work.add([requeue])
        assert not (await store.views.dead_letters(DeadFilter(), Cursor(limit=9))).items, f"after {verbs} verbs"
        if not died:
            return
    raise AssertionError("it never came to its end")


async def test_a_run_that_was_only_seen_on_its_way_does_not_count_as_stored() -> None:
    luck, clock, run = Luck(), ManualClock(), Cluster().make.run()
    nodes = Nodes(luck)
    home = nodes.home(RUN, home_of(run.id))
    row = {**new_row(run, kind=Origin.IMMEDIATE, now=micros(clock.now())), "indexed_at": micros(clock.now())}
    home.hazy.append(Written((run.id,), {name: row.get(name) for name in RUN.columns}, ORIGINAL))
    luck.draws[:] = [SEEN, UNSEEN]
    await CassandraStore.over(WeakRows(nodes, Line(), clock), clock=clock, random=SeededRandom(1)).work.add([run])
    assert home.firm.row((run.id,)) is not None


async def test_a_death_in_doubt_is_settled_before_its_letter_is_crossed_out() -> None:
    cluster = Cluster()
    process = cluster.process()
    run = cluster.make.run()
    await process.store.work.add([run])
    (attempt,) = await process.claim(await process.session())
    process.rows.unheard(Fate.APPLIED_LATE, _die)
    with pytest.raises(Died):
        await process.settle(attempt, Failed(error="no use", permanent=True))
    await process.store.work.add([cluster.make.run(job_id=run.job_id, origin=run.id)])
    dead = await process.store.views.run(run.id)
    assert dead is not None
    assert dead.state is State.DEAD
    assert not (await process.store.views.dead_letters(DeadFilter(), Cursor())).items


async def test_a_letter_that_is_only_seen_to_be_crossed_out_is_crossed_out_for_everybody() -> None:
    luck, clock, run = Luck(), ManualClock(), Cluster().make.run()
    nodes = Nodes(luck)
    store = CassandraStore.over(WeakRows(nodes, Line(), clock), clock=clock, random=SeededRandom(1))
    await store.work.add([run])
    (attempt,) = (await store.work.claim(await store.sessions.open(a_session("worker")), LANES, 1)).attempts
    verdict = judge(attempt, Failed(error="no use", permanent=True), now=clock.now(), uniform=0.0)
    assert await store.work.settle([verdict]) == [Settled.ACCEPTED]
    letters = nodes.home(DEAD, (run.owner, month_of(run.id)))
    letters.hazy.append(Written((run.id,), {"resolved": True}, micros(clock.now())))
    luck.draws[:] = [SEEN]
    assert await store.work.discard([run.id]) == [False]
    assert not (await store.views.dead_letters(DeadFilter(), Cursor())).items


async def test_a_run_that_was_only_seen_on_its_way_is_claimed_once_it_has_come() -> None:
    luck, clock, run = Luck(), ManualClock(), Cluster().make.run()
    nodes = Nodes(luck)
    store = CassandraStore.over(WeakRows(nodes, Line(), clock), clock=clock, random=SeededRandom(1))
    session = await store.sessions.open(a_session("worker"))
    await store.work.add([run])
    home = nodes.home(RUN, home_of(run.id))
    row = home.firm.row((run.id,))
    assert row is not None
    on_its_way = Written((run.id,), {name: row.get(name) for name in RUN.columns}, ORIGINAL)
    home.firm = Partition(RUN)
    home.hazy.append(on_its_way)
    luck.draws[:] = [SEEN]
    assert not (await store.work.claim(session, LANES, 1)).attempts
    nodes.land(home, on_its_way)
    assert [attempt.run_id for attempt in (await store.work.claim(session, LANES, 1)).attempts] == [run.id]


async def test_a_late_verdict_on_an_earlier_hand_over_does_not_hide_that_the_run_is_held_again() -> None:
    cluster = Cluster()
    process = cluster.process()
    session = await process.session()
    await process.store.work.add([cluster.make.run()])
    (earlier,) = await process.claim(session)
    assert await process.settle(earlier, HandedBack()) is Settled.ACCEPTED
    (later,) = await process.claim(session)
    assert await process.settle(earlier, Succeeded()) is not Settled.ACCEPTED
    cluster.clock.advance(timedelta(seconds=2))
    assert not await process.claim(session)  # tidies up what is written down of the session
    held = await cluster.process().store.sessions.held(session, 9)
    assert [(attempt.run_id, attempt.fence) for attempt in held] == [(later.run_id, later.fence)]


async def _die() -> None:
    raise Died


async def _requeue_of_a_dead_run(cluster: Cluster) -> NewRun:
    process = cluster.process()
    run = cluster.make.run()
    await process.store.work.add([run])
    (attempt,) = await process.claim(await process.session())
    await process.settle(attempt, Failed(error="no use", permanent=True))
    return cluster.make.run(job_id=run.job_id, origin=run.id)
