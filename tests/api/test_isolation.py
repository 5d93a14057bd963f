"""What is somebody else's doesn't exist. Every route is tried, so that a new one can't be forgotten."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from fastapi import FastAPI, routing

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.outcome import Succeeded
from mainspring.domain.run import State
from mainspring.ports.audit import Entry
from mainspring.ports.keys import Scope
from mainspring.ports.views import Cursor, JobFilter, RunFilter
from mainspring.testing.contracts.base import a_worker, added, dead, held, settled
from mainspring.testing.factories import Factory
from tests.api.keyed import bearer, stored_key

PRIVATE = "confidential"
NAMED_BY_OWNERS = "/api/v1/locks/"
"""Lock names are each owner's own: another's lock of the same name is a different lock."""
ENDLESS = "/api/v1/events"
BODIES = {"PUT": {"name": "taken over"}, "PATCH": {"name": "taken over"}}


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every (method, path) that the application answers."""
    for context in routing.iter_route_contexts(app.routes):
        for method in sorted(context.methods or ()):
            yield method, str(context.path)


@pytest.fixture
async def theirs(store: SqliteStore) -> list[str]:
    """Ids of everything that bob has: jobs and runs in every state."""
    make = Factory(start=SystemClock().now())
    worker = await a_worker(store)
    mine: dict[str, Any] = {"owner": "bob", "name": PRIVATE}
    waiting, standing = make.run(due=timedelta(hours=1), **mine), make.new_job(**mine)
    await added(store, waiting)
    await store.work.add([standing])
    ended = await held(store, worker, make.run(lane="ended", **mine))
    await settled(store, ended, Succeeded(result=f'"{PRIVATE}"'.encode()))
    running = await held(store, worker, make.run(lane="running", **mine))
    died = await dead(store, worker, make.run(lane="dead", **mine), error=PRIVATE)
    await store.audit.append([Entry(actor=PRIVATE, owner="bob", action="job.create", subject=f"job:{waiting.id}")])
    return [str(each) for each in (waiting.id, standing.job.id, ended.run_id, running.run_id, died.id)]


@pytest.fixture
async def ann(store: SqliteStore, theirs: list[str]) -> dict[str, str]:
    """The headers of somebody else, with every scope."""
    assert theirs
    key, _ = await stored_key(store, "ann", Scope.ADMIN)
    return bearer(key)


@pytest.fixture
def addressed(ports: ApiPorts) -> list[tuple[str, str]]:
    found = [each for each in routes(create_app(ports)) if "{" in each[1] and not each[1].startswith(NAMED_BY_OWNERS)]
    assert len(found) > 10
    return found


async def everything(store: SqliteStore) -> tuple[object, object]:
    """All that is stored of jobs and runs."""
    jobs = await store.views.jobs(JobFilter(), Cursor(limit=100))
    runs = await store.views.runs(RunFilter(), Cursor(limit=100))
    return jobs.items, runs.items


async def test_whatever_takes_an_id_answers_that_there_is_no_such_thing(
    client: aiohttp.ClientSession,
    store: SqliteStore,
    theirs: list[str],
    ann: dict[str, str],
    addressed: list[tuple[str, str]],
) -> None:
    before = await everything(store)
    for method, path in addressed:
        for identity in theirs:
            url = re.sub(r"\{[^}]*\}", identity, path)
            async with client.request(method, url, json=BODIES.get(method), headers=ann) as response:
                assert response.status == 404, (method, url, await response.text())
                assert PRIVATE not in await response.text(), (method, url)
    assert await everything(store) == before
    figures = await store.views.figures()
    assert figures.dead_letters == 1


async def test_the_owner_finds_all_of_them(
    client: aiohttp.ClientSession, store: SqliteStore, theirs: list[str]
) -> None:
    key, _ = await stored_key(store, "bob", Scope.READ)
    found = set()
    for identity in theirs:
        for path in (f"/api/v1/jobs/{identity}", f"/api/v1/executions/{identity}"):
            async with client.get(path, headers=bearer(key)) as response:
                if response.status == 200:
                    found.add(identity)
    assert found == set(theirs)


@pytest.mark.parametrize("query", ["", "?owner=bob", f"?q={PRIVATE}", f"?name={PRIVATE}", "?handler=test.echo"])
async def test_lists_and_figures_show_nothing_of_theirs(
    client: aiohttp.ClientSession, ports: ApiPorts, theirs: list[str], ann: dict[str, str], query: str
) -> None:
    lists = [path for method, path in routes(create_app(ports)) if method == "GET" and "{" not in path]
    assert "/api/v1/jobs" in lists
    for path in lists:
        if path == ENDLESS:
            continue
        async with client.get(path + query, headers=ann) as response:
            text = await response.text()
            assert response.status < 500, (path, text)
            for private in (PRIVATE, *theirs):
                assert private not in text, path


async def test_requeueing_by_filter_leaves_others_dead_letters_alone(
    client: aiohttp.ClientSession, store: SqliteStore, ann: dict[str, str]
) -> None:
    before = await everything(store)
    async with client.post("/api/v1/dead-letter/requeue", json={"handler": "test.echo"}, headers=ann) as response:
        assert response.status < 500
    assert await everything(store) == before


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/jobs/batch"])
async def test_nobody_can_make_jobs_for_somebody_else(
    client: aiohttp.ClientSession, store: SqliteStore, ann: dict[str, str], path: str
) -> None:
    job = {"handler": "test.echo", "owner": "bob"}
    body = {"jobs": [job]} if path.endswith("batch") else job
    async with client.post(path, json=body, headers=ann) as response:
        assert response.status in (201, 403, 422)
    waiting = await store.views.runs(RunFilter(owner="bob", states=frozenset({State.WAITING})), Cursor(limit=100))
    assert len(waiting.items) == 1


async def test_a_lock_of_the_same_name_is_another_lock(
    client: aiohttp.ClientSession, store: SqliteStore, ann: dict[str, str]
) -> None:
    key, _ = await stored_key(store, "bob")
    tokens = []
    for headers in (bearer(key), ann):
        body = {"holder": "h", "ttl_ms": 60_000}
        async with client.post(f"{NAMED_BY_OWNERS}printer/acquire", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            tokens.append((await response.json())["token"])
    wrong = {"holder": "h", "token": tokens[0] + 1, "ttl_ms": 1000}
    async with client.post(f"{NAMED_BY_OWNERS}printer/renew", json=wrong, headers=ann) as response:
        assert response.status == 409
