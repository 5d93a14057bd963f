"""A worker over the fake store, started and stopped by the test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from mainspring.domain.ids import DEFAULT_LANE, Fence, JobId, RunId, SessionId
from mainspring.domain.outcome import Verdict
from mainspring.domain.run import Attempt
from mainspring.domain.task import Task
from mainspring.errors import StoreError
from mainspring.ports.blobs import Blobs
from mainspring.ports.journal import Note, Opened, Orphan
from mainspring.ports.output import Output
from mainspring.ports.sessions import NewSession, Role, Sessions
from mainspring.ports.signals import Signals
from mainspring.ports.work import Work
from mainspring.worker.context import Context
from mainspring.worker.registry import Registry
from mainspring.worker.settings import Ended, WorkerPorts, WorkerSettings
from mainspring.worker.worker import Worker
from tests.unit.incidents import NotedIncidents
from tests.unit.worker.fakes import FakeLocks, FakeStore
from tests.unit.worker.leaps import START, Half, LoopClock, LoopTasks


class ListJournal:
    """A journal in a list; `writes` counts the appends."""

    def __init__(self, notes: Sequence[Note] = ()) -> None:
        self.notes = list(notes)
        self.written: list[Note] = []
        self.writes: list[int] = []
        self.rewrites: list[list[Note]] = []
        self.size = 0
        self.fault: StoreError | None = None
        self.left: list[Orphan] = []
        """What dead neighbours have noted."""

    def append(self, notes: Sequence[Note]) -> None:
        if self.fault is not None:
            raise self.fault
        self.notes += notes
        self.written += notes
        self.writes.append(len(notes))

    def replay(self) -> Sequence[Note]:
        return tuple(self.notes)

    def rewrite(self, notes: Sequence[Note]) -> None:
        self.notes = list(notes)
        self.rewrites.append(list(notes))
        self.size = 0

    def orphans(self) -> Sequence[Orphan]:
        return [each for each in self.left if each.finished]

    def forget(self, orphan: Orphan, settled: Sequence[Verdict]) -> None:
        place = self.left.index(orphan)
        self.left[place] = replace(orphan, finished=[each for each in orphan.finished if each not in settled])

    def close(self) -> None:
        pass


class Bench:
    """A store, a journal and a registry, and the workers that a test puts before them."""

    def __init__(self) -> None:
        self.store = FakeStore()
        self.journal = ListJournal()
        self.registry = Registry()
        self.clock = LoopClock()
        self.tasks = LoopTasks()
        self.locks = FakeLocks(self.clock)
        self.incidents = NotedIncidents()
        self.stop = asyncio.Event()
        self.hurry = asyncio.Event()

    def ports(self) -> WorkerPorts:
        return WorkerPorts(
            work=cast("Work", self.store),
            sessions=cast("Sessions", self.store),
            signals=cast("Signals", self.store),
            locks=self.locks,
            output=cast("Output", self.store),
            blobs=cast("Blobs", self.store),
            journal=self.journal,
            clock=self.clock,
            random=Half(),
            tasks=self.tasks,
            incidents=self.incidents,
        )

    def count_calls(self, name: str) -> list[int]:
        """Register a handler that does nothing but note the attempt of each call."""
        calls: list[int] = []

        @self.registry.handler(name)
        async def note(_: Any, context: Context) -> None:
            calls.append(context.attempt)

        return calls

    def start(self, **settings: Any) -> "asyncio.Task[Ended]":
        worker = Worker(self.ports(), WorkerSettings(name="worker-1", **settings), self.registry)
        return asyncio.ensure_future(worker.run(self.stop, self.hurry))

    @asynccontextmanager
    async def working(self, **settings: Any) -> AsyncIterator["asyncio.Task[Ended]"]:
        """A worker that is stopped in order at the end of the block."""
        task = self.start(**settings)
        try:
            yield task
        finally:
            self.stop.set()
            await task

    @asynccontextmanager
    async def killed(self, **settings: Any) -> AsyncIterator["asyncio.Task[Ended]"]:
        """A worker that goes without a word at the end of the block, as if killed; its journal is what it wrote."""
        task = self.start(**settings)
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def an_attempt(**fields: Any) -> Attempt:
    """A first attempt under fence 1, unless told otherwise."""
    run_id = RunId(UUID(int=1))
    defaults: dict[str, Any] = {
        "run_id": run_id,
        "job_id": JobId(run_id),
        "session": SessionId(1),
        "fence": Fence(1),
        "attempt": 1,
        "failures": 0,
        "losses": 0,
        "due_at": START,
        "started_at": START + timedelta(seconds=1),
        "owner": "ada",
        "project": "engine",
        "task": Task(handler="work", payload=b'{"a": 1}'),
    }
    return Attempt(**{**defaults, **fields})


async def a_dead_predecessor(bench: Bench, *runs: RunId) -> Attempt:
    """A session of the same name that claimed *runs* and died, journalled so far; returns its first attempt."""
    session = await bench.store.open(NewSession(role=Role.WORKER, name="worker-1", ttl=timedelta(seconds=15)))
    claim = await bench.store.claim(session, [DEFAULT_LANE], len(runs))
    bench.journal.notes.append(Opened(session))
    return claim.attempts[0]
