"""A process dies between any two steps: whoever repeats completes it, and nothing is lost or done twice."""

from datetime import timedelta
from random import Random

import pytest

from mainspring.domain.outcome import Failed, Settled, Succeeded
from mainspring.domain.run import NewRun, State
from mainspring.ports.views import Cursor, RunFilter
from mainspring.ports.work import Addition, Edit, Hold, Release
from mainspring.testing.factories import a_key, a_task
from tests.unit.adapters.cassandra.cluster import AFTER_AN_AUDIT, TTL, Cluster, Process
from tests.unit.adapters.cassandra.faults import Died

MOST_VERBS = 200
AT_ONCE = Failed(error="busy", retry_after=timedelta(0))


class _Life:
    """A run as one process carries it through, and how far that was acknowledged."""

    def __init__(self, new: NewRun) -> None:
        self.new = new
        self.added = False
        self.succeeded = False

    async def run(self, process: Process) -> None:
        (answer,) = await process.store.work.add([self.new])
        self.added = answer.kind in {Addition.CREATED, Addition.EXISTING}
        worker = await process.session(ttl=TTL)
        (first,) = await process.claim(worker)
        await process.settle(first, AT_ONCE)
        await process.store.work.steer(self.new.id, Hold())
        await process.store.work.steer(self.new.id, Edit(task=a_task(priority=90)))
        await process.store.work.steer(self.new.id, Release())
        (second,) = await process.claim(worker)
        self.succeeded = await process.settle(second, Succeeded(result=b"first")) is Settled.ACCEPTED


async def _died_after(cluster: Cluster, life: _Life, verbs: int, chance: Random | None) -> bool:
    process = cluster.process(verbs_left=verbs, chance=chance)
    try:
        await life.run(process)
    except Died:
        return True
    return False


async def _completed(cluster: Cluster, life: _Life) -> None:
    """What a client and the other processes do: repeat the request, rescue, claim until it has ended."""
    other = cluster.process()
    await other.store.work.add([life.new])
    await other.store.work.steer(life.new.id, Release())
    worker = await other.session(ttl=timedelta(days=1))
    for _ in range(5):
        for attempt in await other.claim(worker):
            await other.settle(attempt, Succeeded(result=b"second"))
        cluster.clock.advance(AFTER_AN_AUDIT)
        await other.rescue()


@pytest.mark.parametrize("key", [None, a_key("k")], ids=["without a key", "with a key"])
@pytest.mark.parametrize("seed", [None, 1])
async def test_what_a_process_left_undone_at_any_step_is_done_once(key: object, seed: int | None) -> None:
    for verbs in range(MOST_VERBS):
        cluster = Cluster()
        life = _Life(cluster.make.run(key=key))
        died = await _died_after(cluster, life, verbs, None if seed is None else Random(seed))
        await _completed(cluster, life)
        (run,) = (await cluster.process().store.views.runs(RunFilter(), Cursor())).items
        assert (run.id, run.state) == (life.new.id, State.SUCCEEDED), f"died after {verbs} verbs"
        if life.succeeded:
            assert run.result == b"first", f"died after {verbs} verbs"
        assert run.failures <= 1
        if not died:
            assert life.added
            assert life.succeeded
            return
    pytest.fail("the whole life takes more verbs than were tried")
