"""What is somebody else's doesn't exist. Every route of the document has its rule here: a new one without fails."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import aiohttp
import pytest
from fastapi import FastAPI, routing

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.job import Terms
from mainspring.domain.outcome import Succeeded
from mainspring.ports.audit import Entry
from mainspring.ports.keys import Scope
from mainspring.ports.locks import owned
from mainspring.ports.output import Printed
from mainspring.ports.views import Cursor, DeadFilter, JobFilter, RunFilter
from mainspring.testing.contracts.base import a_worker, added, dead, held, settled
from mainspring.testing.factories import Factory, a_key, a_task
from tests.api.keyed import bearer, stored_key
from tests.api.listening import EVENTS, listening

PRIVATE = "confidential"
"""In everything of bob's that has a text of its own."""
LOCK, WORKER = "printer", "worker-1"
"""Names that anybody may use: each owner's locks are its own, and workers are everybody's."""
JOB = {"handler": "test.echo", "schedule": "in 1h"}
EVERYTHING = Cursor(limit=100)


@dataclass(frozen=True)
class Rule:
    """How a request about something of bob's is answered, by the credentials that it shows."""

    none: int
    read: int
    write: int
    admin: int
    body: Any = None

    def sending(self, body: Any) -> "Rule":
        return replace(self, body=body)


# What takes an id of bob's: it isn't there, whatever the key allows.
READING = Rule(none=401, read=404, write=404, admin=404)
CHANGING = Rule(none=401, read=403, write=404, admin=404)
RENAMING = CHANGING.sending({"name": "taken over", "payload": "taken over"})
ADMINISTERING = Rule(none=401, read=403, write=403, admin=404)
# What takes no id: lists and figures are of one's own, and so is what is made.
LISTING = Rule(none=401, read=200, write=200, admin=200)
ADMIN_LISTING = Rule(none=401, read=403, write=403, admin=200)
IN_BOBS_NAME = Rule(none=401, read=403, write=422, admin=422)
PUBLIC = Rule(none=200, read=200, write=200, admin=200)
"""For probes and collectors, and without a word about anybody's jobs."""
OF_OWN_LOCK = Rule(none=401, read=403, write=409, admin=409)

RULES: Sequence[tuple[str, Rule]] = (
    ("POST /api/v1/jobs", IN_BOBS_NAME.sending({**JOB, "owner": "bob"})),
    ("POST /api/v1/jobs/batch", IN_BOBS_NAME.sending({"jobs": [JOB, {**JOB, "owner": "bob"}]})),
    ("GET /api/v1/jobs", LISTING),
    ("GET /api/v1/jobs/{job_id}", READING),
    ("PUT /api/v1/jobs/{job_id}", RENAMING),
    ("PATCH /api/v1/jobs/{job_id}", RENAMING),
    ("DELETE /api/v1/jobs/{job_id}", CHANGING),
    ("GET /api/v1/jobs/{job_id}/executions", READING),
    ("POST /api/v1/jobs/{job_id}/trigger", CHANGING),
    ("POST /api/v1/jobs/{job_id}/pause", CHANGING),
    ("POST /api/v1/jobs/{job_id}/resume", CHANGING),
    ("POST /api/v1/jobs/{job_id}/cancel", CHANGING),
    ("GET /api/v1/executions", LISTING),
    ("GET /api/v1/executions/{run_id}", READING),
    ("GET /api/v1/executions/{run_id}/attempts", READING),
    ("POST /api/v1/executions/{run_id}/cancel", CHANGING),
    ("POST /api/v1/executions/{run_id}/retry", CHANGING),
    ("GET /api/v1/dead-letter", LISTING),
    ("POST /api/v1/dead-letter/requeue", Rule(none=401, read=403, write=202, admin=202, body={})),
    ("POST /api/v1/dead-letter/{run_id}/requeue", CHANGING),
    ("POST /api/v1/dead-letter/{run_id}/discard", CHANGING.sending({"reason": "mine"})),
    ("POST /api/v1/schedules/preview", LISTING.sending({"schedule": "@daily"})),
    ("GET /api/v1/locks", LISTING),
    ("GET /api/v1/locks/{name}", READING),
    ("POST /api/v1/locks/{name}/renew", OF_OWN_LOCK.sending({"holder": PRIVATE, "token": 1, "ttl_ms": 60_000})),
    ("POST /api/v1/locks/{name}/release", OF_OWN_LOCK.sending({"holder": PRIVATE, "token": 1})),
    (
        "POST /api/v1/locks/{name}/acquire",
        Rule(none=401, read=403, write=200, admin=200, body={"holder": "ann's", "ttl_ms": 1}),
    ),
    ("GET /api/v1/audit", ADMIN_LISTING),
    ("GET /api/v1/audit?job_id={job_id}", ADMIN_LISTING),
    ("GET /api/v1/keys", ADMIN_LISTING),
    ("POST /api/v1/keys", Rule(none=401, read=403, write=403, admin=422, body={"owner": "bob", "scope": "admin"})),
    ("DELETE /api/v1/keys/{key_id}", ADMINISTERING),
    ("GET /api/v1/events", LISTING),
    ("GET /api/v1/events?job_id={job_id}", READING),
    ("GET /api/v1/metrics", LISTING),
    ("GET /api/v1/metrics/executions", LISTING),
    ("GET /api/v1/metrics/timeline", LISTING),
    ("GET /api/v1/metrics/timeline?job_id={job_id}", READING),
    ("GET /api/v1/handlers", LISTING),
    ("GET /api/v1/health", LISTING),
    ("GET /api/v1/workers", LISTING),
    ("POST /api/v1/workers/{worker_id}/drain", ADMIN_LISTING),
    ("POST /api/v1/workers/{worker_id}/resume", ADMIN_LISTING),
    ("POST /jobs", Rule(none=401, read=403, write=422, admin=422, body={"handler": "test.echo", "owner": "bob"})),
    ("GET /jobs", LISTING),
    ("GET /jobs/{job_id}", READING),
    ("DELETE /jobs/{job_id}", CHANGING),
    ("POST /jobs/{job_id}/run", CHANGING),
    ("POST /jobs/{job_id}/cancel", CHANGING),
    ("GET /stats", LISTING),
    ("GET /workers", LISTING),
    ("POST /submit", Rule(none=401, read=403, write=422, admin=422, body={"user_id": "bob", "payload": "x"})),
    ("GET /job?id={job_id}", READING),
    ("GET /healthz", PUBLIC),
    ("GET /readyz", PUBLIC),
    ("GET /metrics", PUBLIC),
)
UNDOCUMENTED = {
    ("GET", "/"),
    ("GET", "/dashboard"),
    ("GET", "/dashboard/{name:path}"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    *((method, "/api/v1/jobs/batch") for method in ("GET", "PUT", "PATCH", "DELETE")),
}
"""The dashboard's files, the document itself, and methods that are refused."""
OF_ALL = {"workers", "active_workers", "schedulers", "capacity", "executing", "step_ms"}
"""Figures of the cluster, which every owner may know."""
QUERIES = (
    "owner=bob",
    "owner=bob&limit=100",
    f"q={PRIVATE}",
    f"name={PRIVATE}",
    f"key={PRIVATE}",
    f"project={PRIVATE}",
    f"handler={PRIVATE}",
    f"fingerprint={PRIVATE}",
    f"worker={WORKER}",
    "status=FAILED",
    "window=30d",
)


@dataclass(frozen=True)
class Bob:
    """Somebody who has one of everything."""

    ids: Sequence[str]
    """Of jobs and runs in every state."""
    key_id: str
    admin: Mapping[str, str] = field(repr=False)
    """The headers of his key."""

    def addresses(self, route: str) -> Iterator[tuple[str, str]]:
        """The URLs of *route* for everything of his that fits, each with what of his it names."""
        things = {
            "job_id": self.ids,
            "run_id": self.ids,
            "key_id": [self.key_id],
            "name": [LOCK],
            "worker_id": [WORKER],
        }
        parameter = re.search(r"\{(\w+)\}", route)
        if parameter is None:
            yield route, ""
            return
        for thing in things[parameter[1]]:
            yield route.replace(parameter[0], thing), thing


@pytest.fixture
async def bob(store: SqliteStore) -> Bob:
    make = Factory(start=SystemClock().now())
    worker = await a_worker(store, WORKER)
    mine: dict[str, Any] = {"owner": "bob", "name": PRIVATE, "project": PRIVATE}
    secret: dict[str, Any] = {"handler": PRIVATE, "payload": f'"{PRIVATE}"'.encode()}
    spec = Terms(description=PRIVATE).to_json()
    waiting = make.run(due=timedelta(hours=1), key=a_key(PRIVATE), spec=spec, task=a_task(**secret), **mine)
    standing = make.new_job(task=a_task(**secret), terms=Terms(schedule="@every 5m", description=PRIVATE), **mine)
    due = make.run(lane="due", **mine)
    await added(store, waiting, due)
    await store.work.add([standing])
    ended = await held(store, worker, make.run(lane="ended", **mine))
    await settled(store, ended, Succeeded(result=f'"{PRIVATE}"'.encode()))
    running = await held(store, worker, make.run(lane="running", **mine))
    died = await dead(store, worker, make.run(lane="dead", **mine), error=PRIVATE)
    text = PRIVATE.encode()
    await store.output.write(
        [Printed(run_id=each.run_id, fence=each.fence, head=text, length=len(text)) for each in (ended, running)]
    )
    await store.audit.append([Entry(actor=PRIVATE, owner="bob", action="job.create", subject=f"job:{waiting.id}")])
    for name in (LOCK, "plotter"):
        await store.locks.acquire(owned("bob", name), PRIVATE, timedelta(hours=1))
    text_of_key, key = await stored_key(store, "bob", Scope.ADMIN)
    ids = [str(each) for each in (waiting.id, standing.job.id, due.id, ended.run_id, running.run_id, died.id)]
    return Bob(ids, str(key.id), bearer(text_of_key))


@pytest.fixture
async def ann(store: SqliteStore, bob: Bob) -> Mapping[str, Mapping[str, str]]:
    """The headers of somebody else, by what her key allows."""
    assert bob.ids
    keys = {scope.value: bearer((await stored_key(store, "ann", scope))[0]) for scope in Scope}
    return {"none": {}, **keys}


@pytest.fixture
async def unchanged(store: SqliteStore, bob: Bob) -> AsyncIterator[None]:
    """Whatever the test does: bob has what he had."""
    before = await everything_of_bobs(store, bob)
    yield
    assert await everything_of_bobs(store, bob) == before


async def everything_of_bobs(store: SqliteStore, bob: Bob) -> Sequence[object]:
    jobs = (await store.views.jobs(JobFilter(owner="bob"), EVERYTHING)).items
    runs = (await store.views.runs(RunFilter(owner="bob"), EVERYTHING)).items
    assert {str(run.id) for run in runs} < set(bob.ids)
    return [
        jobs,
        runs,
        (await store.views.dead_letters(DeadFilter(owner="bob"), EVERYTHING)).items,
        [await store.output.read(run.id) for run in runs],
        (await store.locks.held("bob", limit=100)).locks,
        [replace(key, last_used_at=None) for key in await store.keys.list("bob")],
        await store.audit.page(owner="bob", job_id=None, before=None, limit=100),
    ]


def documented(app: FastAPI) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every (method, path) that the application answers."""
    for context in routing.iter_route_contexts(app.routes):
        for method in sorted(context.methods or ()):
            yield method, str(context.path)


def parts(route: str) -> tuple[str, str]:
    """The method and the path that *route* names in the document."""
    method, _, path = route.partition(" ")
    return method, path.partition("?")[0]


async def asked(
    client: aiohttp.ClientSession, route: str, headers: Mapping[str, str], body: Any = None
) -> tuple[int, str]:
    """The status and the text of an answer; a stream that doesn't end is left as soon as it has begun."""
    method, _, url = route.partition(" ")
    async with client.request(method, url, json=body, headers=headers) as response:
        endless = response.content_type == "text/event-stream"
        return response.status, "" if endless else await response.text()


def check_says_nothing(bob: Bob, text: str, *, but: str = "") -> None:
    """No value of bob's is in *text*, except what whoever asked had named."""
    for value in (PRIVATE, *bob.ids, bob.key_id):
        assert value == but or value not in text, (value, text)


def test_every_route_has_a_rule(ports: ApiPorts) -> None:
    app = create_app(ports)
    ruled = {parts(route) for route, _ in RULES}
    assert ruled == documented(app)
    hidden = {
        (method, path)
        for method, path in routes(app)
        if method != "HEAD" and (method, re.sub(r":\w+\}", "}", path)) not in ruled
    }
    assert hidden == UNDOCUMENTED


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("scope", ["none", "read", "write", "admin"])
async def test_what_is_bobs_is_neither_shown_nor_changed_whatever_anns_key_allows(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]], scope: str
) -> None:
    for route, rule in RULES:
        for url, named in bob.addresses(route):
            status, text = await asked(client, url, ann[scope], rule.body)
            assert status == getattr(rule, scope), (url, text)
            check_says_nothing(bob, text, but=named)


@pytest.mark.usefixtures("unchanged")
async def test_neither_a_wrong_key_nor_a_name_beside_ones_own_key_opens_anything(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]]
) -> None:
    for headers, refusal in (
        ({"Authorization": "Bearer ms_live_wrong"}, 401),
        ({"Authorization": "Basic Ym9iOmJvYg=="}, 401),
        ({**ann["admin"], "X-User-ID": "bob"}, 403),
        ({"X-User-ID": "bob"}, 401),
    ):
        for route, rule in RULES:
            for url, named in bob.addresses(route):
                status, text = await asked(client, url, headers, rule.body)
                assert status == (200 if rule is PUBLIC else refusal), (url, text)
                check_says_nothing(bob, text, but=named)


@pytest.mark.usefixtures("unchanged")
async def test_no_filter_shows_what_is_bobs(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]]
) -> None:
    for route in (route for route, rule in RULES if rule in (LISTING, ADMIN_LISTING) and "{" not in route):
        if not route.startswith("GET") or parts(route)[1] == EVENTS:
            continue
        for query in QUERIES:
            status, text = await asked(client, f"{route}?{query}", ann["admin"])
            assert status in (200, 422), (route, query, text)
            check_says_nothing(bob, text.replace(query.partition("=")[2], ""))


def counted(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """The numbers in an answer, but those about what belongs to everybody."""
    if isinstance(value, dict):
        for member, each in value.items():
            yield from counted(each, member)
    elif isinstance(value, list):
        for each in value:
            yield from counted(each, name)
    elif isinstance(value, int) and not isinstance(value, bool) and name not in OF_ALL:
        yield name, value


@pytest.mark.usefixtures("unchanged")
async def test_no_figure_counts_what_is_bobs(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]]
) -> None:
    figures = ("metrics", "metrics/executions", "metrics/timeline?steps=2", "health")
    for path in ("/stats", *(f"/api/v1/{figure}" for figure in figures)):
        for headers, seen in ((ann["admin"], False), (bob.admin, True)):
            async with client.get(path, headers=headers) as response:
                numbers = list(counted(await response.json()))
            assert any(number for _, number in numbers) is seen, (path, numbers)


@pytest.mark.usefixtures("unchanged")
async def test_a_cursor_of_bobs_leads_ann_through_her_own(
    client: aiohttp.ClientSession, store: SqliteStore, bob: Bob, ann: Mapping[str, Mapping[str, str]]
) -> None:
    make = Factory(seed=1, start=SystemClock().now() - timedelta(hours=1))
    await dead(store, await a_worker(store, "worker-2"), make.run(owner="ann", lane="anns"))
    followed = set()
    for path in ("jobs", "executions", "dead-letter", "locks", "audit"):
        async with client.get(f"/api/v1/{path}?limit=1", headers=bob.admin) as response:
            cursor = (await response.json())["next"]
        if cursor is not None:
            followed.add(path)
            status, text = await asked(client, f"GET /api/v1/{path}?cursor={cursor}", ann["admin"])
            assert status == 200, text
            check_says_nothing(bob, text)
    assert followed >= {"jobs", "executions", "locks"}
    async with client.get("/jobs?limit=1", headers=bob.admin) as response:
        following = re.search("<(.*)>", response.headers["Link"])
    assert following is not None
    status, text = await asked(client, f"GET {following[1]}", ann["admin"])
    assert status == 200, text
    check_says_nothing(bob, text)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("body", [{}, {"handler": "test.echo"}, {"limit": 1000}, {"job_id": None}])
async def test_requeueing_by_filter_leaves_bobs_dead_letters_alone(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]], body: dict[str, Any]
) -> None:
    bodies = [{**body, "job_id": each} for each in bob.ids] if "job_id" in body else [body]
    for each in bodies:
        status, text = await asked(client, "POST /api/v1/dead-letter/requeue", ann["admin"], each)
        assert (status, '"requeued":0' in text) == (202, True), text


@pytest.mark.usefixtures("unchanged")
async def test_an_idempotency_key_of_bobs_is_free_for_ann(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]]
) -> None:
    for route, body in (
        ("POST /api/v1/jobs", {**JOB, "key": PRIVATE}),
        ("POST /api/v1/jobs/batch", {"jobs": [{**JOB, "key": PRIVATE, "priority": 50}]}),
    ):
        status, text = await asked(client, route, ann["write"], body)
        assert status == 201, text
        check_says_nothing(bob, text, but=PRIVATE)


@pytest.mark.usefixtures("unchanged")
async def test_a_lock_of_the_same_name_is_another_lock(
    client: aiohttp.ClientSession, ann: Mapping[str, Mapping[str, str]]
) -> None:
    route = f"POST /api/v1/locks/{LOCK}/"
    for _ in range(2):
        status, _ = await asked(client, route + "acquire", ann["write"], {"holder": "h", "ttl_ms": 60_000})
        assert status == 200
    wrong = {"holder": "h", "token": 7, "ttl_ms": 1000}
    status, text = await asked(client, route + "renew", ann["write"], wrong)
    assert (status, PRIVATE in text) == (409, False)


async def test_a_stream_tells_ann_nothing_of_what_bob_does(
    client: aiohttp.ClientSession, bob: Bob, ann: Mapping[str, Mapping[str, str]]
) -> None:
    _, standing, *_, died = bob.ids
    async with listening(client, **bob.admin) as his:
        await asked(client, f"POST /api/v1/jobs/{standing}/trigger", bob.admin)
        await his.next("run")
        position = his.last_id
    for after in (None, position):
        async with listening(client, after=after, **ann["read"]) as hers, listening(client, **bob.admin) as his:
            for route in (
                f"POST /api/v1/jobs/{standing}/pause",
                f"POST /api/v1/jobs/{standing}/resume",
                f"POST /api/v1/jobs/{standing}/trigger",
                f"POST /api/v1/executions/{died}/retry",
            ):
                status, text = await asked(client, route, bob.admin)
                assert status in (200, 202), text
            await his.next("run")
            status, made = await asked(client, "POST /api/v1/jobs", ann["write"], JOB)
            assert status == 201, made
            texts: list[str] = []
            async with asyncio.timeout(20):
                while not any(made[7:43] in text for text in texts):
                    texts.append(str((await hers.next()).data))
            check_says_nothing(bob, "".join(texts))


async def test_the_owner_finds_all_of_his(client: aiohttp.ClientSession, bob: Bob) -> None:
    """Or else it would be no wonder that nobody else does."""
    found = set()
    for identity in bob.ids:
        for route in (f"GET /api/v1/jobs/{identity}", f"GET /api/v1/executions/{identity}"):
            status, text = await asked(client, route, bob.admin)
            if status == 200 and identity in text:
                found.add(identity)
    assert found == set(bob.ids)
    for route in ("jobs", "executions", "dead-letter", "locks", "audit"):
        assert PRIVATE in (await asked(client, f"GET /api/v1/{route}", bob.admin))[1]
