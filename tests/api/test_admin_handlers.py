"""`system.cleanup` removes everybody's history: whatever door a request comes through, it needs an admin's key."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.run import State
from mainspring.ports.keys import Scope
from mainspring.ports.views import Cursor, DeadFilter, JobFilter, RunFilter
from mainspring.testing.contracts.base import a_worker, dead
from mainspring.testing.factories import Factory
from tests.api.conftest import ports_over
from tests.api.keyed import bearer, guarded, stored_key

CLEANUP = "system.cleanup"
JOB = {"handler": CLEANUP, "payload": {"olderThanDays": 0}}
Keys = dict[Scope, dict[str, str]]


@pytest.fixture
async def keys(store: SqliteStore) -> Keys:
    """Two keys of one owner: a script has one, and a person the other."""
    return {scope: bearer((await stored_key(store, "ann", scope))[0]) for scope in (Scope.WRITE, Scope.ADMIN)}


@pytest.fixture
async def client(store: SqliteStore) -> AsyncIterator[aiohttp.ClientSession]:
    ports = ports_over(store, {"test.echo": DEFAULT_LANE, CLEANUP: DEFAULT_LANE})
    async with guarded(ports) as session:
        yield session


async def asked(
    client: aiohttp.ClientSession, headers: dict[str, str], path: str, body: Any = None, method: str = "POST"
) -> tuple[int, Any]:
    async with client.request(method, path, json=body, headers=headers) as response:
        return response.status, await response.json(content_type=None)


async def everything(store: SqliteStore) -> object:
    page = Cursor(limit=100)
    return (
        (await store.views.jobs(JobFilter(), page)).items,
        (await store.views.runs(RunFilter(), page)).items,
        (await store.views.dead_letters(DeadFilter(), page)).items,
    )


async def refused_to_a_writer_alone(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, path: str, *, body: Any = None, method: str = "POST"
) -> None:
    before = await everything(store)
    status, problem = await asked(client, keys[Scope.WRITE], path, body, method)
    assert (status, problem["error"]) == (403, "missing_scope"), problem
    assert CLEANUP in problem["detail"]
    assert await everything(store) == before
    status, answer = await asked(client, keys[Scope.ADMIN], path, body, method)
    assert status in (200, 201, 202), answer


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/jobs", JOB),
        ("/api/v1/jobs", {**JOB, "schedule": "@daily"}),
        ("/api/v1/jobs", {**JOB, "payload": {"olderThanDays": 0.0}, "schedule": "on-demand"}),
        ("/api/v1/jobs/batch", {"jobs": [{"handler": "test.echo"}, JOB]}),
        ("/api/v1/jobs/batch", {"jobs": [JOB, {"handler": "test.echo"}]}),
        ("/jobs", {"handler": CLEANUP, "schedule": "now", "payload": {}}),
        ("/jobs", {"handler": CLEANUP, "job_type": "immediate"}),
    ],
)
async def test_a_job_for_it_is_submitted_by_an_admin_s_key(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, path: str, body: Any
) -> None:
    await refused_to_a_writer_alone(client, store, keys, path, body=body)


async def submitted(client: aiohttp.ClientSession, keys: Keys, **fields: Any) -> str:
    status, job = await asked(client, keys[Scope.ADMIN], "/api/v1/jobs", fields)
    assert status == 201, job
    identity: str = job["id"]
    return identity


@pytest.mark.parametrize("schedule", ["@daily", "in 1h"])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_job_for_it_is_edited_by_an_admin_s_key(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, schedule: str, method: str
) -> None:
    job = await submitted(client, keys, **{**JOB, "payload": {"olderThanDays": 30}, "schedule": schedule})
    change = {"payload": {"olderThanDays": 0}}
    await refused_to_a_writer_alone(client, store, keys, f"/api/v1/jobs/{job}", body=change, method=method)


@pytest.mark.parametrize("schedule", ["@daily", "in 1h"])
async def test_another_job_is_turned_into_one_by_an_admin_s_key(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, schedule: str
) -> None:
    job = await submitted(client, keys, handler="test.echo", schedule=schedule)
    await refused_to_a_writer_alone(client, store, keys, f"/api/v1/jobs/{job}", body=JOB, method="PATCH")


@pytest.mark.parametrize("path", ["/api/v1/jobs/{}/trigger", "/jobs/{}/run"])
async def test_a_job_for_it_is_triggered_by_an_admin_s_key(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, path: str
) -> None:
    job = await submitted(client, keys, **JOB, schedule="@daily")
    await refused_to_a_writer_alone(client, store, keys, path.format(job))


@pytest.mark.parametrize("schedule", ["@daily", "in 1h"])
async def test_a_writer_may_pause_it_but_not_let_it_go_on(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, schedule: str
) -> None:
    job = await submitted(client, keys, **JOB, schedule=schedule)
    status, answer = await asked(client, keys[Scope.WRITE], f"/api/v1/jobs/{job}/pause")
    assert status == 200, answer
    await refused_to_a_writer_alone(client, store, keys, f"/api/v1/jobs/{job}/resume")


async def dead_letters(store: SqliteStore, *handlers: str) -> list[str]:
    """What has failed for good in ann's name, one of each handler."""
    make, worker = Factory(), await a_worker(store)
    return [str((await dead(store, worker, make.run(handler=name, owner="ann", lane=name))).id) for name in handlers]


@pytest.mark.parametrize("path", ["/api/v1/executions/{}/retry", "/api/v1/dead-letter/{}/requeue"])
async def test_one_that_failed_is_repeated_by_an_admin_s_key(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, path: str
) -> None:
    [letter] = await dead_letters(store, CLEANUP)
    await refused_to_a_writer_alone(client, store, keys, path.format(letter))


@pytest.mark.parametrize("body", [{}, {"handler": CLEANUP}])
async def test_a_filter_that_meets_one_requeues_nothing_for_a_writer(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys, body: Any
) -> None:
    await dead_letters(store, "test.echo", CLEANUP)
    await refused_to_a_writer_alone(client, store, keys, "/api/v1/dead-letter/requeue", body=body)


async def test_a_filter_that_meets_none_requeues_what_it_meets(
    client: aiohttp.ClientSession, store: SqliteStore, keys: Keys
) -> None:
    await dead_letters(store, "test.echo", CLEANUP)
    status, answer = await asked(client, keys[Scope.WRITE], "/api/v1/dead-letter/requeue", {"handler": "test.echo"})
    assert (status, answer["requeued"]) == (202, 1)


async def test_a_writer_may_cancel_and_delete_it(client: aiohttp.ClientSession, store: SqliteStore, keys: Keys) -> None:
    waiting = await submitted(client, keys, **JOB, schedule="in 1h")
    assert (await asked(client, keys[Scope.WRITE], f"/api/v1/jobs/{waiting}/cancel"))[0] == 202
    recurring = await submitted(client, keys, **JOB, schedule="@daily")
    async with client.delete(f"/api/v1/jobs/{recurring}", headers=keys[Scope.WRITE]) as response:
        assert response.status == 204
    live = RunFilter(states=frozenset({State.WAITING}))
    assert not (await store.views.runs(live, Cursor())).items


async def test_an_open_api_takes_it_from_anybody(client: aiohttp.ClientSession) -> None:
    assert (await asked(client, {"X-User-ID": "ben"}, "/api/v1/jobs", JOB))[0] == 201
