"""The application without a network between, and what a worker does to a store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
from fastapi import FastAPI

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.outcome import Outcome, judge
from mainspring.domain.run import Attempt
from mainspring.testing.factories import a_session
from tests.api.described import Described

JOBS = "/api/v1/jobs"
EXECUTIONS = "/api/v1/executions"


class Api:
    """Asks, and holds every answer to the status that is expected and to the document that describes it."""

    def __init__(self, client: httpx.AsyncClient, described: Described) -> None:
        self.client = client
        self.described = described

    async def ask(self, method: str, path: str, status: int, **options: Any) -> httpx.Response:
        response = await self.client.request(method, path, **options)
        assert response.status_code == status, response.text
        self.described.check(response)
        return response

    async def get(self, path: str, status: int = 200, **options: Any) -> Any:
        return (await self.ask("GET", path, status, **options)).json()

    async def post(self, path: str, status: int, **options: Any) -> Any:
        return (await self.ask("POST", path, status, **options)).json()

    async def submitted(self, **fields: Any) -> Any:
        return await self.post(JOBS, 201, json={"handler": "test.echo", **fields})


@asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[Api]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield Api(client, Described(app))


async def claimed(store: SqliteStore) -> Attempt:
    """The best waiting run, in a worker's hands."""
    session = await store.sessions.open(a_session())
    [attempt] = (await store.work.claim(session, [DEFAULT_LANE], 1)).attempts
    return attempt


async def settled(store: SqliteStore, attempt: Attempt, outcome: Outcome) -> None:
    await store.work.settle([judge(attempt, outcome, now=datetime.now(UTC), uniform=0.0)])


async def executed(store: SqliteStore, outcome: Outcome) -> Attempt:
    """What a worker does to the best waiting run."""
    attempt = await claimed(store)
    await settled(store, attempt, outcome)
    return attempt
