"""Three real nodes with three copies of everything, under load, and what can happen to them.

Nothing is lost, nothing is done twice, a stale result is never accepted, and two of three go on.
"""

import asyncio
import secrets
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import aiohttp
import pytest

from mainspring.domain.ids import Lane, RunId
from mainspring.domain.outcome import Settled, Succeeded, judge
from mainspring.domain.run import Attempt, State
from mainspring.errors import StoreUnavailable
from mainspring.testing.factories import Factory, a_session, a_task
from mainspring.wiring.stores import Store
from servers.cassandra import CassandraCluster
from tests.cassandra import in_keyspace
from tests.scenarios.kill.watching import diary
from tests.scenarios.serve import processes
from tests.scenarios.serve.processes import Place, mainspring, stored

pytestmark = pytest.mark.chaos

RUNS = 600
BATCH = 50
PATIENCE = 600
"""Seconds: three nodes and four processes may share a small machine."""
OUTLIVES = ("--worker-ttl-seconds", "600")
"""A session that no outage ends: then nothing is ever executed twice."""


@pytest.fixture(autouse=True)
def patient_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", PATIENCE)


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[CassandraCluster]:
    request.getfixturevalue("cassandra_jars")
    with CassandraCluster(3) as cluster:
        yield cluster


@pytest.fixture
def place(cluster: CassandraCluster, tmp_path: Path) -> Place:
    source = Path(__file__).parents[1] / "scenarios" / "kill" / "diary.py"
    shutil.copy(source, tmp_path / "diary.py")
    return Place(tmp_path, in_keyspace(cluster.url(), f"chaos_{secrets.token_hex(4)}"))


@asynccontextmanager
async def working(place: Place) -> AsyncIterator[str]:
    """A server, a scheduler and two workers; the server's URL."""
    async with AsyncExitStack() as running:
        start = running.enter_async_context
        server = await start(mainspring(place, "api", "--port", "0"))
        await start(mainspring(place, "scheduler"))
        for name in ("red", "green"):
            worker = await start(mainspring(place, "worker", "--app", "diary", "--worker-name", name, *OUTLIVES))
            await worker.line("session.opened", logger="mainspring.worker")  # until then its handlers are unknown
        yield await server.url()


async def submitted(url: str) -> set[str]:
    """The ids of all runs, each batch repeated under its keys until it is answered."""
    answers = await asyncio.gather(*(_batch(url, number) for number in range(RUNS // BATCH)))
    return {identity for answer in answers for identity in answer}


async def _batch(url: str, number: int) -> list[str]:
    jobs = [{"handler": "diary.note", "key": f"{number}-{each}"} for each in range(BATCH)]
    async with aiohttp.ClientSession(url) as client:
        while True:
            async with client.post("/api/v1/jobs/batch", json={"jobs": jobs}) as response:
                if response.status in (200, 201):
                    return [item["id"] for item in (await response.json())["items"]]
                assert response.status == 503, await response.text()
            await asyncio.sleep(0.2)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Look again until it is so; a store that doesn't answer just now is asked again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                if await condition():
                    return
            except StoreUnavailable:
                pass
            await asyncio.sleep(0.2)


async def until_noted(place: Place, lines: int) -> None:
    async def noted() -> bool:
        return len(set(diary(place.folder))) >= lines

    await until(noted)


async def until_all_succeeded(store: Store, expected: set[str]) -> None:
    left = {RunId(UUID(text)) for text in expected}

    async def none_left() -> bool:
        for run_id in sorted(left):
            run = await store.views.run(run_id)
            assert run is not None, "an accepted job is never lost"
            if not run.state.terminal:
                return False
            assert run.state is State.SUCCEEDED
            left.discard(run_id)
        return True

    await until(none_left)


def assert_done_once(place: Place, expected: set[str]) -> None:
    calls = Counter(diary(place.folder))
    assert set(calls) == expected, "nothing is lost"
    assert {run: count for run, count in calls.items() if count > 1} == {}, "nothing is done twice"


async def endured(place: Place, fault: Callable[[], Awaitable[None]]) -> None:
    """Submit under load while *fault* happens, and see that all is done once."""
    # The store first: its tables take their time on three nodes, and processes are expected to start quickly.
    async with AsyncExitStack() as opened:
        store = await until_answered(lambda: opened.enter_async_context(stored(place)))
        url = await opened.enter_async_context(working(place))
        async with asyncio.TaskGroup() as together:  # nobody waits for what a submission that has failed would bring
            submitting = together.create_task(submitted(url))
            await until_noted(place, RUNS // 6)
            await fault()
        expected = submitting.result()
        await until_noted(place, RUNS)
        await until_all_succeeded(store, expected)
        await assert_a_stale_result_is_refused(store)
    assert_done_once(place, expected)


async def assert_a_stale_result_is_refused(store: Store) -> None:
    """The result of a session that was buried doesn't count once somebody else has the run."""
    lane = Lane(f"stale-{secrets.token_hex(4)}")
    run = Factory(start=await store.views.now()).run(task=a_task(lane=lane))
    await until_answered(lambda: store.work.add([run]))
    late = await claimed(store, lane, ttl=timedelta(milliseconds=1))
    holder = await claimed(store, lane, ttl=timedelta(minutes=10))  # the scheduler has rescued it meanwhile
    assert holder.fence > late.fence
    assert await settled(store, late) is Settled.STALE
    assert await settled(store, holder) is Settled.ACCEPTED
    assert await settled(store, late) is Settled.STALE


async def claimed(store: Store, lane: Lane, *, ttl: timedelta) -> Attempt:
    """The only run of *lane*, as soon as a session of its own gets hold of it."""
    session = await until_answered(lambda: store.sessions.open(a_session(secrets.token_hex(4), ttl=ttl)))
    found: list[Attempt] = []

    async def got_it() -> bool:
        found.extend((await store.work.claim(session, [lane], 1)).attempts)
        return bool(found)

    await until(got_it)
    return found[0]


async def settled(store: Store, attempt: Attempt) -> Settled:
    verdict = judge(attempt, Succeeded(), now=attempt.started_at, uniform=0.0)
    (answer,) = await until_answered(lambda: store.work.settle([verdict]))
    return answer


T = TypeVar("T")


async def until_answered(ask: Callable[[], Awaitable[T]]) -> T:
    """All verbs can be repeated."""
    answers: list[T] = []

    async def answered() -> bool:
        answers.append(await ask())
        return True

    await until(answered)
    return answers[0]


async def test_a_node_that_is_killed_under_load_is_not_missed(cluster: CassandraCluster, place: Place) -> None:
    victim = cluster.nodes[1]

    async def kill() -> None:
        await asyncio.to_thread(victim.kill)

    try:
        await endured(place, kill)
    finally:
        await asyncio.to_thread(victim.start)


async def test_a_node_that_stands_still_holds_nobody_up_for_long(cluster: CassandraCluster, place: Place) -> None:
    victim = cluster.nodes[2]

    async def pause() -> None:
        victim.pause()

    try:
        await endured(place, pause)
    finally:
        victim.resume()


async def test_work_goes_on_when_all_nodes_come_back_from_a_power_cut(cluster: CassandraCluster, place: Place) -> None:
    async def cut_the_power() -> None:
        for node in cluster.nodes:
            await asyncio.to_thread(node.kill)
        await asyncio.to_thread(cluster.start)

    await endured(place, cut_the_power)
