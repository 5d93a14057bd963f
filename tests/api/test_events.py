import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.ports.work import Edit, Hold, Release
from mainspring.testing.contracts.base import a_worker, added, claimed, held, settled
from mainspring.testing.factories import Factory
from tests.api.keyed import bearer, status, stored_key
from tests.api.listening import EVENTS, listening
from tests.api.serving import served

MANY_STREAMS = 200
LATER = timedelta(hours=1)


@pytest.fixture
def make() -> Factory:
    return Factory(start=SystemClock().now())


async def test_a_run_is_told_when_it_is_added_started_and_ended(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory
) -> None:
    worker = await a_worker(store, "worker-7")
    async with listening(client) as listener:
        run = make.run(name="mine", due=LATER)
        await added(store, run)
        heard = await listener.next("run")
        assert (heard.data["id"], heard.data["status"], heard.data["name"]) == (str(run.id), "PENDING", "mine")
        attempt = await held(store, worker, make.run(lane="other"))
        heard = await listener.next("run")
        assert (heard.data["id"], heard.data["status"]) == (str(attempt.run_id), "RUNNING")
        assert (heard.data["worker_id"], heard.data["attempt"], heard.data["token"]) == ("worker-7", 1, attempt.fence)
        await settled(store, attempt, Succeeded())
        heard = await listener.next("run")
        assert (heard.data["id"], heard.data["status"]) == (str(attempt.run_id), "COMPLETED")
        assert heard.data["completed_at"].endswith("Z")


async def test_a_run_that_is_put_back_is_told(client: aiohttp.ClientSession, store: SqliteStore, make: Factory) -> None:
    async with listening(client) as listener:
        attempt = await held(store, await a_worker(store), make.run())
        assert (await listener.next("run")).data["status"] == "RUNNING"
        await settled(store, attempt, Failed(error="broken", retry_after=LATER))
        heard = await listener.next("run")
        assert (heard.data["id"], heard.data["status"]) == (str(attempt.run_id), "PENDING")


async def test_a_waiting_run_that_is_held_released_or_edited_is_told(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory
) -> None:
    run = make.run(due=LATER)
    await added(store, run)
    async with listening(client) as listener:
        for order, fence in ((Hold(), 1), (Release(), 2), (Edit(name="new"), 3)):
            await store.work.steer(run.id, order)
            heard = await listener.next("run")
            assert (heard.data["id"], heard.data["status"], heard.data["token"]) == (str(run.id), "PENDING", fence)
            assert heard.data["name"] == ("new" if isinstance(order, Edit) else run.name)


async def test_jobs_and_workers_are_told(client: aiohttp.ClientSession, store: SqliteStore, make: Factory) -> None:
    async with listening(client) as listener:
        new = make.new_job()
        await store.work.add([new])
        heard = await listener.next("job")
        assert (heard.data["id"], heard.data["version"], heard.data["paused"]) == (str(new.job.id), 1, False)
        session = await a_worker(store, "worker-7")
        heard = await listener.next("worker")
        assert (heard.data["id"], heard.data["status"]) == ("worker-7", "active")
        await store.sessions.drain(session)
        heard = await listener.next("worker")
        assert (heard.data["id"], heard.data["status"]) == ("worker-7", "draining")
        await store.sessions.close(session)
        heard = await listener.next("worker")
        assert (heard.data["id"], heard.data["status"]) == ("worker-7", "gone")


async def test_a_reader_that_comes_back_hears_what_it_missed(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory
) -> None:
    async with listening(client) as listener:
        await added(store, make.run(due=LATER))
        last = (await listener.next("run")).id
    missed = make.runs(3, due=LATER)
    await added(store, *missed)
    async with listening(client, after=last) as listener:
        heard = [await listener.next("run") for _ in missed]
        assert {event.data["id"] for event in heard} == {str(run.id) for run in missed}
        assert [event.id for event in heard] == [last, last, listener.last_id]
        later = make.run(due=LATER)
        await added(store, later)
        while (event := await listener.next("run")).data["id"] != str(later.id):
            assert event.data["id"] in {str(run.id) for run in missed}, "only what may be told twice"


@pytest.mark.parametrize("last", ["nonsense", "1.2", "999.999.999.999"])
async def test_a_reader_that_was_away_too_long_is_reset_once(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory, last: str
) -> None:
    async with listening(client, after=last) as listener:
        heard = await listener.next()
        assert heard.kind == "reset"
        await added(store, make.run(due=LATER))
        assert (await listener.next()).kind == "run"
    async with listening(client, after=heard.id) as listener:
        assert (await listener.next()).kind == "run"


async def test_changes_become_counts_when_they_are_too_many(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory
) -> None:
    async with listening(client) as listener:
        await added(store, *make.runs(500, due=LATER))
        heard = await listener.next("counts", "run")
        assert (heard.kind, heard.data) == ("counts", {"runs": {"PENDING": 500}, "jobs": 0})


async def test_one_job_is_told_run_by_run_however_much_else_happens(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory
) -> None:
    runs = make.runs(500)
    await added(store, *runs)
    wanted = runs[250]
    async with listening(client, f"{EVENTS}?job_id={wanted.job_id}") as listener:
        for attempt in await claimed(store, await a_worker(store), 500):
            await settled(store, attempt, Succeeded())
        while (heard := await listener.next()).data["status"] != "COMPLETED":
            assert heard.data["id"] == str(wanted.id)
        assert heard.data["id"] == str(wanted.id)


async def test_an_unknown_job_is_not_listened_to(client: aiohttp.ClientSession, make: Factory) -> None:
    assert await status(client, f"{EVENTS}?job_id={make.id()}") == 404
    assert await status(client, f"{EVENTS}?job_id=nonsense") == 422
    assert await status(client, f"{EVENTS}?nonsense=1") == 422


async def test_owners_hear_only_of_their_own(client: aiohttp.ClientSession, store: SqliteStore, make: Factory) -> None:
    ann, _ = await stored_key(store, "ann")
    theirs, ours = make.run(owner="bob", due=LATER), make.run(owner="ann", due=LATER)
    async with listening(client, **bearer(ann)) as listener:
        await added(store, theirs, *make.runs(100, owner="bob", due=LATER))
        await store.work.add([make.new_job(owner="bob")])
        await added(store, ours)
        heard = await listener.next()
        assert heard.data["id"] == str(ours.id)
    assert await status(client, f"{EVENTS}?job_id={theirs.job_id}", headers=bearer(ann)) == 404
    async with listening(client, after="0.0.0.0", **bearer(ann)) as listener:  # noqa: S104 - a position
        assert (await listener.next()).data["id"] == str(ours.id)


async def test_counts_are_of_ones_own_too(client: aiohttp.ClientSession, store: SqliteStore, make: Factory) -> None:
    ann, _ = await stored_key(store, "ann")
    async with listening(client, **bearer(ann)) as listener:
        await added(store, *make.runs(500, owner="bob", due=LATER), *make.runs(3, owner="ann", due=LATER))
        assert (await listener.next()).data == {"runs": {"PENDING": 3}, "jobs": 0}


async def test_a_stream_ends_when_its_key_is_revoked(
    client: aiohttp.ClientSession, store: SqliteStore, make: Factory
) -> None:
    text, key = await stored_key(store, "ann")
    async with listening(client, **bearer(text)) as listener:
        await added(store, make.run(owner="ann", due=LATER))
        await listener.next("run")
        await store.keys.revoke(key.id)
        await asyncio.sleep(1)  # what is promised: from then on nothing is told
        await added(store, make.run(owner="ann", due=LATER))
        assert await listener.rest() == []


async def test_streams_end_when_the_process_does(ports: ApiPorts) -> None:
    stopping = asyncio.Event()
    ending = replace(ports, ending=stopping.is_set)
    async with served(create_app(ending)) as client, listening(client) as listener:
        stopping.set()
        assert await listener.rest() == []


async def test_many_streams_hear_the_same(ports: ApiPorts, store: SqliteStore, make: Factory) -> None:
    async with served(create_app(ports)) as client, AsyncExitStack() as streams:
        client.connector._limit = 0  # type: ignore[union-attr]  # aiohttp has no other way once it is open
        listeners = [await streams.enter_async_context(listening(client)) for _ in range(MANY_STREAMS)]
        run = make.run(due=LATER)
        await added(store, run)
        heard = await asyncio.gather(*(listener.next("run") for listener in listeners))
        assert {event.data["id"] for event in heard} == {str(run.id)}
