"""A conditional batch isn't answered: it was carried out, it never is, or it will be."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.rows import Key, Row
from mainspring.adapters.cassandra.table import Table
from mainspring.domain.outcome import Failed, HandedBack, Lost, Settled, Succeeded
from mainspring.domain.run import State
from mainspring.errors import StoreUnavailable
from mainspring.ports.sessions import News
from mainspring.ports.views import Cursor, RunFilter
from mainspring.ports.work import Added, Addition, Cancel, Edit, Effect, Hold, Order, Release
from mainspring.testing.factories import a_key
from tests.unit.adapters.cassandra.cluster import TTL, Cluster
from tests.unit.adapters.cassandra.faults import Fate

FATES = pytest.mark.parametrize("fate", Fate)


@FATES
@pytest.mark.parametrize("position", range(9))
async def test_a_life_goes_on_as_if_every_answer_had_been_heard(fate: Fate, position: int) -> None:
    cluster = Cluster()
    process = cluster.process(fates=[None] * position + [fate])
    new = cluster.make.run(key=a_key("k"))
    assert await process.store.work.add([new]) == [Added(Addition.CREATED, new.id)]
    worker = await process.session()
    fences = []
    for outcome in (Failed(error="busy", retry_after=timedelta(0)), HandedBack(), Lost()):
        (attempt,) = await process.claim(worker)
        fences.append(attempt.fence)
        assert await process.settle(attempt, outcome) is Settled.ACCEPTED
    (attempt,) = await process.claim(worker)
    assert await process.settle(attempt, Succeeded(result=b"1")) is Settled.ACCEPTED
    assert not process.rows.fates
    assert sorted({*fences, attempt.fence}) == [*fences, attempt.fence]
    (run,) = (await cluster.process().store.views.runs(RunFilter(), Cursor())).items
    assert (run.state, run.result, run.failures, run.attempt) == (State.SUCCEEDED, b"1", 1, 3)


@FATES
@pytest.mark.parametrize("order", [Cancel(), Hold(), Edit(name="new")])
async def test_an_order_is_carried_out_once(fate: Fate, order: Order) -> None:
    cluster = Cluster()
    process = cluster.process()
    new = cluster.make.run()
    await process.store.work.add([new])
    process.rows.fates = [fate]
    assert (await process.store.work.steer(new.id, order)).effect is Effect.DONE
    run = await process.store.views.run(new.id)
    assert run is not None
    assert (run.fence, run.version) == (1, 1 if isinstance(order, Cancel) else 2)


@FATES
async def test_a_flag_is_set(fate: Fate) -> None:
    cluster = Cluster()
    process = cluster.process()
    new = cluster.make.run()
    await process.store.work.add([new])
    worker = await process.session()
    (attempt,) = await process.claim(worker)
    process.rows.fates = [fate]
    assert (await process.store.work.steer(new.id, Cancel(reason="asked"))).effect is Effect.FLAGGED
    assert await process.settle(attempt, HandedBack()) is Settled.ACCEPTED
    run = await process.store.views.run(new.id)
    assert run is not None
    assert (run.state, run.reason) == (State.CANCELLED, "asked")


@FATES
async def test_a_released_run_is_found(fate: Fate) -> None:
    cluster = Cluster()
    process = cluster.process()
    new = cluster.make.run()
    await process.store.work.add([new])
    await process.store.work.steer(new.id, Hold())
    process.rows.fates = [fate]
    await process.store.work.steer(new.id, Release())
    assert len(await process.claim(await process.session())) == 1


@FATES
async def test_a_heartbeat_is_heard_and_an_end_is_an_end(fate: Fate) -> None:
    cluster = Cluster()
    process = cluster.process()
    session = await process.session(ttl=TTL)
    process.rows.fates = [fate]
    assert await process.store.sessions.beat(session, News()) is not None
    process.rows.fates = [fate]
    await process.store.sessions.close(session)
    assert await process.store.sessions.beat(session, News()) is None


@FATES
async def test_a_burial_lasts(fate: Fate) -> None:
    cluster = Cluster()
    process, rescuer = cluster.process(), cluster.process()
    await process.store.work.add([cluster.make.run()])
    session = await process.session(ttl=TTL)
    (attempt,) = await process.claim(session)
    cluster.clock.advance(TTL)
    rescuer.rows.fates = [fate]
    assert list(await rescuer.store.sessions.bury(10)) == [session]
    assert list(await rescuer.store.sessions.held(session, 10)) == [attempt]
    assert await process.store.sessions.beat(session, News()) is None


@pytest.mark.parametrize("fate", [Fate.APPLIED, Fate.APPLIED_LATE])
async def test_a_claim_whose_every_answer_was_lost_is_told_by_the_heartbeat(
    fate: Fate, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    process = cluster.process()
    new = cluster.make.run()
    await process.store.work.add([new])
    session = await process.session(ttl=TTL)
    process.rows.fates = [fate]
    read = process.rows.get

    async def deaf(
        table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        if settled:
            raise StoreUnavailable("nobody answers")
        return await read(table, partition, keys)

    with monkeypatch.context() as patched:
        patched.setattr(process.rows, "get", deaf)
        with pytest.raises(StoreUnavailable):
            await process.claim(session)
    # Another claim of the same process, and its clearing up, don't make it forget what it may hold.
    cluster.clock.advance(timedelta(seconds=2))
    await process.claim(session)
    heard = await cluster.process().store.sessions.beat(session, News())
    assert heard is not None
    assert heard.held == {new.id: 1}
    cluster.clock.advance(2 * TTL)
    rescuer = cluster.process()
    await rescuer.rescue()
    (again,) = await rescuer.claim(await rescuer.session("another"))
    assert (again.run_id, again.fence, again.losses) == (new.id, 2, 1)
