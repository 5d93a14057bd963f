"""Mainspring on its embedded store: the same services, worker and wake-ups as `mainspring serve`, without HTTP."""

import asyncio
import os
import sqlite3
import traceback
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, closing
from datetime import timedelta

from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Traits
from benchmarks.coroutines import LoopThread, from_coroutines
from benchmarks.sqlite_count import count
from mainspring.adapters.files.journal import FileJournal
from mainspring.domain.ids import RANDOM_BITS, RunId, SessionId, new_job_id
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task
from mainspring.ports.journal import Finished
from mainspring.ports.sessions import News, NewSession
from mainspring.ports.sessions import Role as SessionRole
from mainspring.wiring.garbage import collect_seldom
from mainspring.wiring.logging import configure_logging
from mainspring.wiring.process import Role
from mainspring.wiring.resources import Resources, opened
from mainspring.wiring.roles import scheduler_roles, worker_role
from mainspring.wiring.settings import Settings
from mainspring.worker.heartbeat import BEATS_PER_TTL

DATABASE = "mainspring.db"
BATCH = 2_000
IN_FLIGHT = 3
"""Batches: one is made while others are stored."""
HANDLERS = "benchmarks.mainspring_handlers"
PAYLOADS = "select payload from queue where id = ?1 union all select payload from history where id = ?1"


class MainspringContender:
    """Stores where its place says: in a file of the folder, unless there is a URL."""

    description = Description(
        title="Mainspring (SQLite)",
        settings="synchronous=FULL, all services and one worker with the default 32 slots in one process, journal on",
        keeps="every run with its times, attempts and result",
        loses="nothing; a run whose process dies between its effect and the journal write runs again",
    )
    traits = Traits()

    def __init__(self) -> None:
        self._loop: LoopThread
        self._stack = AsyncExitStack()
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._beating: list[asyncio.Task[None]] = []
        self._resources: Resources

    def unavailable(self) -> str:
        return ""

    def open(self, place: Place) -> None:
        configure_logging("json", "error")
        settings = Settings(
            data=place.folder,
            store=place.url,
            worker_name=_worker_name(place.process),
            apps=(HANDLERS,),
            origins={"worker_name": "benchmark"},
        )
        self._loop = LoopThread()
        self._resources = self._loop.do(self._stack.enter_async_context(opened(settings)))
        collect_seldom()  # as every process of ours does

    def work(self) -> None:
        self._loop.do(self._start_roles())

    def add(self, job: Job) -> int:
        return self._loop.call(self._add([job]))

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        self._loop.do(from_coroutines(lambda job: self._add([job]), jobs, callers))

    def add_all(self, jobs: Sequence[Job]) -> None:
        async def every_other(first: int) -> None:
            for start in range(first * BATCH, len(jobs), IN_FLIGHT * BATCH):
                await self._add(jobs[start : start + BATCH])

        async def batches() -> None:
            await asyncio.gather(*(every_other(first) for first in range(IN_FLIGHT)))

        self._loop.do(batches())

    def hold_sessions(self, count: int) -> None:
        self._loop.do(self._hold_sessions(count))

    def close(self) -> None:
        self._loop.do(self._end())
        self._loop.close()

    def waiting(self, place: Place) -> int:
        return count(place.folder / DATABASE, "select count(*) from queue")

    def recorded(self, place: Place) -> frozenset[int] | None:
        with closing(sqlite3.connect(place.folder / DATABASE, timeout=10)) as connection:
            ((identity,),) = connection.execute("SELECT id FROM identity")
        journal = FileJournal(place.folder / "journal", _worker_name(place.process), identity)
        runs = [note.verdict.run_id for note in journal.replay() if isinstance(note, Finished)]
        journal.close()
        return frozenset(int(payload) for payload in self.payloads(place, runs))

    def payloads(self, place: Place, runs: Iterable[RunId]) -> list[bytes]:
        """What was given with *runs*, whether they wait or have ended."""
        with closing(sqlite3.connect(place.folder / DATABASE, timeout=10)) as connection:
            return [connection.execute(PAYLOADS, (run.bytes,)).fetchone()[0] for run in runs]

    async def _add(self, jobs: Sequence[Job]) -> None:
        now, random = self._resources.clock.now(), self._resources.random
        runs = []
        for job in jobs:
            identifier = new_job_id(now, random.bits(RANDOM_BITS))
            task = Task(handler="benchmark.hit", payload=b"%d" % job.number, priority=job.priority)
            due = timedelta(0) if job.due_at is None else job.due_at
            runs.append(NewRun(id=RunId(identifier), job_id=identifier, task=task, due=due))
        await self._resources.work.add(runs)

    async def _start_roles(self) -> None:
        roles = [*await scheduler_roles(self._resources), await worker_role(self._resources)]
        self._tasks = [asyncio.create_task(self._run(role)) for role in roles]

    async def _run(self, role: Role) -> None:
        try:
            await role.run(self._stop, asyncio.Event())
        except Exception:  # noqa: BLE001 - whatever it was: a role that fails must not look like a slow one
            traceback.print_exc()
            os._exit(1)

    async def _hold_sessions(self, count: int) -> None:
        ttl = self._resources.settings.worker_ttl
        for number in range(count):
            new = NewSession(role=SessionRole.WORKER, name=f"idle-{number}", ttl=ttl)
            session = await self._resources.store.sessions.open(new)
            self._beating.append(asyncio.create_task(self._beat(session, ttl / BEATS_PER_TTL, number / count)))

    async def _beat(self, session: SessionId, interval: timedelta, phase: float) -> None:
        """Beat for ever; sessions of different *phase* don't beat together."""
        clock = self._resources.clock
        await clock.sleep(interval * phase)
        while True:
            await self._resources.store.sessions.beat(session, News(clock=clock.now()))
            await clock.sleep(interval)

    async def _end(self) -> None:
        self._stop.set()
        for beating in self._beating:
            beating.cancel()
        await asyncio.gather(*self._tasks)
        await asyncio.gather(*self._beating, return_exceptions=True)
        await self._stack.aclose()


def _worker_name(process: int) -> str:
    return f"benchmark-{process}"


CONTENDER = MainspringContender

if __name__ == "__main__":
    serve(CONTENDER())
