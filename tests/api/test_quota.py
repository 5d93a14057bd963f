"""A quota holds at every door, however many jobs come through one request or at once."""

import asyncio
from typing import Any

import aiohttp

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.access import Access
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.run import State
from mainspring.ports.views import Cursor, RunFilter
from mainspring.testing.contracts.base import a_worker, dead
from mainspring.testing.factories import Factory
from tests.api.calling import calling
from tests.api.keyed import guarded

JOBS = "/api/v1/jobs"
LATER = {"handler": "test.echo", "schedule": "in 1h"}
LIVE = RunFilter(states=frozenset({State.WAITING, State.RUNNING}))


async def live(store: SqliteStore, owner: str = "default") -> int:
    page = await store.views.runs(LIVE, Cursor(limit=1000))
    return sum(run.owner == owner for run in page.items)


async def asked(
    client: aiohttp.ClientSession, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    async with client.post(path, json=body, headers=headers) as response:
        return response.status, await response.json(content_type=None)


def refused(answer: tuple[int, dict[str, Any]], **numbers: int) -> bool:
    status, problem = answer
    assert (status, problem.get("error")) == (429, "quota_exceeded"), answer
    assert {name: problem[name] for name in ("live", "quota", "asked")} == numbers
    return True


async def test_a_full_quota_refuses_new_runs_only(ports: ApiPorts) -> None:
    async with guarded(ports, Access(quota=2)) as client:
        assert [(await asked(client, JOBS, LATER))[0] for _ in range(3)] == [201, 201, 429]
        async with client.post(JOBS, json=LATER) as response:
            assert int(response.headers["Retry-After"]) >= 1
        async with client.get(JOBS) as response:
            assert response.status == 200
        headers = {"X-User-ID": "other"}
        async with client.post(JOBS, json=LATER, headers=headers) as response:
            assert response.status == 201
        assert (await asked(client, JOBS, {**LATER, "owner": "third"}))[0] == 201
        assert (await asked(client, JOBS, {**LATER, "schedule": "@every 1h"}))[0] == 201


async def test_a_batch_gets_in_whole_or_not_at_all(ports: ApiPorts, store: SqliteStore) -> None:
    async with guarded(ports, Access(quota=5)) as client:
        refused(await asked(client, f"{JOBS}/batch", {"jobs": [LATER] * 6}), live=0, quota=5, asked=6)
        assert await live(store) == 0
        assert (await asked(client, f"{JOBS}/batch", {"jobs": [LATER] * 3}))[0] == 201
        refused(await asked(client, f"{JOBS}/batch", {"jobs": [LATER] * 3}), live=3, quota=5, asked=3)
        assert (await asked(client, f"{JOBS}/batch", {"jobs": [LATER] * 2}))[0] == 201
        assert await live(store) == 5


async def test_a_requeue_by_filter_gets_in_whole_or_not_at_all(ports: ApiPorts, store: SqliteStore) -> None:
    make, worker = Factory(), await a_worker(store)
    for number in range(4):
        await dead(store, worker, make.run(lane=f"lane {number}"))
    async with guarded(ports, Access(quota=3)) as client:
        refused(await asked(client, "/api/v1/dead-letter/requeue", {}), live=0, quota=3, asked=4)
        assert await live(store) == 0
        status, answer = await asked(client, "/api/v1/dead-letter/requeue", {"limit": 3})
        assert (status, answer["requeued"]) == (202, 3)
        refused(await asked(client, "/api/v1/dead-letter/requeue", {}), live=3, quota=3, asked=1)
        assert await live(store) == 3


async def test_runs_of_the_dialects_and_second_chances_are_counted(ports: ApiPorts, store: SqliteStore) -> None:
    letter = await dead(store, await a_worker(store), Factory().run())
    async with guarded(ports, Access(quota=2)) as client:
        _, job = await asked(client, "/jobs", {"schedule": "now"})
        for _ in range(2):
            assert (await asked(client, f"/jobs/{job['id']}/run"))[0] == 202
        for path, body in (
            (f"/jobs/{job['id']}/run", None),
            (f"{JOBS}/{job['id']}/trigger", None),
            ("/jobs", {"handler": "test.echo", "delay_seconds": 3600}),
            (f"/api/v1/executions/{letter.id}/retry", None),
            (f"/api/v1/dead-letter/{letter.id}/requeue", None),
        ):
            refused(await asked(client, path, body), live=2, quota=2, asked=1)
        submission = {"project_id": "p", "payload": "text"}
        assert (await asked(client, "/submit", submission, **{"X-User-ID": "ann"}))[0] == 202
        assert (await asked(client, "/submit", submission, **{"X-User-ID": "ann"}))[0] == 202
        refused(await asked(client, "/submit", submission, **{"X-User-ID": "ann"}), live=2, quota=2, asked=1)
        assert await live(store) == 2


async def test_of_many_requests_at_once_no_more_pass_than_there_is_room_for(
    ports: ApiPorts, store: SqliteStore
) -> None:
    async with guarded(ports, Access(quota=5)) as client:
        answers = await asyncio.gather(*(asked(client, JOBS, LATER) for _ in range(60)))
    assert sorted(status for status, _ in answers) == [201] * 5 + [429] * 55
    assert await live(store) == 5


async def test_a_repeated_request_gets_its_answer_however_full_it_is(ports: ApiPorts, store: SqliteStore) -> None:
    async with guarded(ports, Access(quota=2)) as client:
        _, recurring = await asked(client, JOBS, {**LATER, "schedule": "@every 1h"})
        requests: list[tuple[str, Any, dict[str, str]]] = [
            (JOBS, LATER, {"Idempotency-Key": "one"}),
            (f"{JOBS}/{recurring['id']}/trigger", None, {"Idempotency-Key": "two"}),
        ]
        first = [await asked(client, path, body, **headers) for path, body, headers in requests]
        again = [await asked(client, path, body, **headers) for path, body, headers in requests]
        assert [status for status, _ in first] == [201, 202]
        assert [status for status, _ in again] == [200, 202]
        assert [each["id"] for _, each in again] == [each["id"] for _, each in first]
        batch = {"jobs": [{**LATER, "key": "one"}, {**LATER, "schedule": "@daily"}]}
        status, answer = await asked(client, f"{JOBS}/batch", batch)
        assert (status, answer["existing"]) == (201, [0])
        assert (await asked(client, JOBS, {**LATER, "priority": 1}, **{"Idempotency-Key": "one"}))[0] == 409
        assert (await asked(client, JOBS, LATER, **{"Idempotency-Key": "three"}))[0] == 429
    assert await live(store) == 2


async def test_the_document_describes_the_refusal(ports: ApiPorts) -> None:
    async with calling(create_app(ports, access=Access(quota=1))) as api:
        await api.post(f"{JOBS}/batch", 429, json={"jobs": [LATER] * 2})
