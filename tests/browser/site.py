"""A real server with a store of its own, and a worker whose every move is the test's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.access import Access
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.api.server import Server, bind, url_of
from mainspring.domain.ids import DEFAULT_LANE, Lane, SessionId
from mainspring.domain.outcome import Failed, Outcome, judge
from mainspring.domain.run import Attempt
from mainspring.ports.pipes import Pipe
from mainspring.ports.sessions import Role
from mainspring.testing.factories import a_session

BUILTIN = dict.fromkeys(("test.echo", "test.delay", "shell.script", "http.webhook"), DEFAULT_LANE)


@dataclass
class MovableClock:
    """The system's clock, seen from another time."""

    shift: timedelta = timedelta(0)
    system: SystemClock = field(default_factory=SystemClock)

    def now(self) -> datetime:
        return self.system.now() + self.shift

    def monotonic(self) -> float:
        return self.system.monotonic()

    async def sleep(self, duration: timedelta) -> None:
        await self.system.sleep(duration)


class Site:
    """What a test does to a server, from inside and from outside."""

    def __init__(self, store: SqliteStore, clock: MovableClock, access: Access | None) -> None:
        self.store = store
        self.clock = clock
        self.url = ""
        self._port = 0
        self._access = access
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._client = httpx.AsyncClient(timeout=60)
        self._worker: SessionId | None = None
        self.pipes: list[Callable[[], Pipe]] = []

    async def start(self) -> None:
        """Serve; after a stop, under the same address as before."""
        self._stop = stop = asyncio.Event()
        ports = replace(
            _ports(self.store, self.clock), ending=stop.is_set, pipes=lambda: [known() for known in self.pipes]
        )
        app = create_app(ports) if self._access is None else create_app(ports, access=self._access)
        [bound] = bind("127.0.0.1", [self._port])
        self.url, self._port = url_of(bound), bound.getsockname()[1]
        self._serving = asyncio.create_task(Server(app, [bound]).run(self._stop))

    async def stop(self) -> None:
        if self._serving is not None:
            self._stop.set()
            await self._serving
            self._serving = None

    async def close(self) -> None:
        await self._client.aclose()
        await self.stop()

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        response = await self._client.request(method, f"{self.url}/api/v1/{path}", **options)
        response.raise_for_status()
        return response.json() if response.content else None

    async def add(self, name: str, **fields: Any) -> Any:
        """A job."""
        return await self.ask("POST", "jobs", json={"name": name, "handler": "test.echo", **fields})

    async def worker(self, name: str = "worker-1", **fields: Any) -> SessionId:
        """A worker comes alive."""
        self._worker = await self.store.sessions.open(a_session(name, **fields))
        return self._worker

    async def scheduler(self) -> None:
        await self.store.sessions.open(a_session("scheduler-1", role=Role.SCHEDULER, capacity=0, handlers={}))

    async def take(self, lane: str = DEFAULT_LANE) -> Attempt:
        """The worker takes the best waiting run."""
        session = self._worker if self._worker is not None else await self.worker()
        [attempt] = (await self.store.work.claim(session, [Lane(lane)], 1)).attempts
        return attempt

    async def settle(self, attempt: Attempt, outcome: Outcome) -> None:
        await self.store.work.settle([judge(attempt, outcome, now=self.clock.now(), uniform=0.0)])

    async def execute(self, outcome: Outcome) -> Attempt:
        attempt = await self.take()
        await self.settle(attempt, outcome)
        return attempt

    async def die(self, name: str, error: str, **fields: Any) -> Any:
        """A job that has failed for good."""
        job = await self.add(name, max_retries=0, **fields)
        await self.execute(Failed(error=error))
        return job


@asynccontextmanager
async def site(folder: Path, *, clock: MovableClock | None = None, access: Access | None = None) -> AsyncIterator[Site]:
    """A server over a new store."""
    clock = clock or MovableClock()
    store = await SqliteStore.open(str(folder / "mainspring.db"), clock=clock)
    served = Site(store, clock, access)
    await served.start()
    try:
        yield served
    finally:
        await served.close()
        await store.close()


def _ports(store: SqliteStore, clock: MovableClock) -> ApiPorts:
    builtin: Mapping[str, Lane] = BUILTIN
    return ApiPorts(
        work=store.work,
        timetable=store.timetable,
        views=store.views,
        sessions=store.sessions,
        blobs=store.blobs,
        output=store.output,
        keys=store.keys,
        locks=store.locks,
        audit=store.audit,
        changes=store.changes,
        clock=clock,
        random=SystemRandom(),
        builtin=builtin,
    )
