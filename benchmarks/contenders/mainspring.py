"""Mainspring on its embedded store: the same services, worker and wake-ups as `mainspring serve`, without HTTP."""

import asyncio
import json
import os
import sqlite3
import threading
import traceback
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from benchmarks.child import serve
from benchmarks.contender import Description, Job
from benchmarks.sqlite_count import count
from mainspring.adapters.files.journal import FileJournal
from mainspring.domain.ids import RANDOM_BITS, RunId, new_job_id
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task
from mainspring.ports.journal import Finished
from mainspring.wiring.logging import configure_logging
from mainspring.wiring.process import Role
from mainspring.wiring.resources import Resources, opened
from mainspring.wiring.roles import scheduler_roles, worker_role
from mainspring.wiring.settings import Settings

DATABASE = "mainspring.db"
WORKER = "benchmark"
BATCH = 2_000
IN_FLIGHT = 2
"""Batches: one is made while the other is stored."""
HANDLERS = "benchmarks.mainspring_handlers"
PAYLOADS = "select payload from queue where id = ?1 union all select payload from history where id = ?1"
T = TypeVar("T")


class MainspringContender:
    description = Description(
        title="Mainspring (SQLite)",
        settings="synchronous=FULL, all services and one worker with the default 32 slots in one process, journal on",
        keeps="every run with its times, attempts and result",
        loses="nothing; a run whose process dies between its effect and the journal write runs again",
    )
    adds_only_in_worker = False

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stack = AsyncExitStack()
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._resources: Resources

    def open(self, folder: Path) -> None:
        configure_logging("json", "error")
        self._thread.start()
        settings = Settings(
            data=folder,
            worker_name=WORKER,
            apps=(HANDLERS,),
            origins={"worker_name": "benchmark"},
        )
        self._resources = self._do(self._stack.enter_async_context(opened(settings)))

    def work(self) -> None:
        self._do(self._start_roles())

    def add(self, job: Job) -> None:
        self._do(self._add([job]))

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        async def caller(share: Sequence[Job]) -> None:
            for job in share:
                await self._add([job])

        async def all_callers() -> None:
            await asyncio.gather(*(caller(jobs[first::callers]) for first in range(callers)))

        self._do(all_callers())

    def add_all(self, jobs: Sequence[Job]) -> None:
        async def every_other(first: int) -> None:
            for start in range(first * BATCH, len(jobs), IN_FLIGHT * BATCH):
                await self._add(jobs[start : start + BATCH])

        async def batches() -> None:
            await asyncio.gather(*(every_other(first) for first in range(IN_FLIGHT)))

        self._do(batches())

    def close(self) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def waiting(self, folder: Path) -> int:
        return count(folder / DATABASE, "select count(*) from queue")

    def recorded(self, folder: Path) -> frozenset[int] | None:
        journal = FileJournal(folder / "journal", WORKER)
        runs = [note.verdict.run_id for note in journal.replay() if isinstance(note, Finished)]
        journal.close()
        with closing(sqlite3.connect(folder / DATABASE, timeout=10)) as connection:
            payloads = [connection.execute(PAYLOADS, (run.bytes,)).fetchone()[0] for run in runs]
        return frozenset(int(payload) for payload in payloads)

    async def _add(self, jobs: Sequence[Job]) -> None:
        now, random = self._resources.clock.now(), self._resources.random
        runs = []
        for job in jobs:
            identifier = new_job_id(now, random.bits(RANDOM_BITS))
            task = Task(handler="benchmark.hit", payload=json.dumps(job.number).encode())
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

    async def _end(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks)
        await self._stack.aclose()

    def _do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


CONTENDER = MainspringContender

if __name__ == "__main__":
    serve(CONTENDER())
