"""Procrastinate on PostgreSQL, by psycopg."""

import asyncio
import os
import traceback
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from itertools import groupby

import psycopg
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.jobs import JobDeferrer
from procrastinate.types import JSONDict

from benchmarks.base import Peer
from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Server, Traits
from benchmarks.coroutines import LoopThread, from_coroutines
from benchmarks.hits import hit
from benchmarks.postgres_count import count

CONCURRENCY = 10
POLL_SECONDS = 0.1
BATCH = 5_000
WAITING = "select count(*) from procrastinate_jobs where status in ('todo', 'doing') and task_name = 'hit'"
REMEMBER = b"""
    with ended as (
        insert into procrastinate_jobs (queue_name, task_name, args, status, attempts)
        select 'default', 'hit', '{"number": 0}', 'succeeded', 1 from generate_series(1, %s) returning id
    )
    insert into procrastinate_events (job_id, type)
    select id, type::procrastinate_job_event_type
    from ended cross join unnest(array['deferred', 'started', 'succeeded']) as type
"""
"""A job and its three events, as it writes them itself."""


class ProcrastinateContender(Peer):
    description = Description(
        title="Procrastinate (PostgreSQL)",
        settings=(
            f"psycopg on uvloop, {CONCURRENCY} jobs at once (default 1), polling every {POLL_SECONDS * 1000:.0f} ms "
            f"beside LISTEN/NOTIFY (default 5 s), added by batches of {BATCH:,}, single adds through a pool, stalled "
            "jobs retried every minute by a periodic task as its documentation shows"
        ),
        keeps="every job with its arguments and the times of its changes, no result",
        loses="nothing; what a dead worker held waits until a task of the user's own retries it",
    )
    traits = Traits(server=Server.POSTGRESQL, most_jobs=5_000)

    def __init__(self) -> None:
        self._loop: LoopThread
        self._app: App
        self._stack = AsyncExitStack()
        self._worker: asyncio.Task[None] | None = None

    def open(self, place: Place) -> None:
        self._app = App(connector=PsycopgConnector(conninfo=place.url, min_size=1, max_size=CONCURRENCY + 2))
        self._app.task(name="hit")(_execute)
        self._app.periodic(cron="* * * * *")(
            self._app.task(name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)(_retry_stalled)
        )
        self._loop = LoopThread()
        self._loop.do(self._open())

    def work(self) -> None:
        self._loop.do(self._work())

    def add(self, job: Job) -> int:
        return self._loop.call(self._add(job))

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        self._loop.do(from_coroutines(self._add, jobs, callers))

    def add_all(self, jobs: Sequence[Job]) -> None:
        self._loop.do(self._add_all(jobs))

    def close(self) -> None:
        self._loop.do(self._close())
        self._loop.close()

    def waiting(self, place: Place) -> int:
        return count(place.url, WAITING)

    def fill_history(self, place: Place, count: int) -> None:
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute(REMEMBER, [count])

    async def _open(self) -> None:
        await self._stack.enter_async_context(self._app.open_async())
        if not await self._app.check_connection_async():
            await self._app.schema_manager.apply_schema_async()

    async def _work(self) -> None:
        self._worker = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            await self._app.run_worker_async(
                concurrency=CONCURRENCY, fetch_job_polling_interval=POLL_SECONDS, install_signal_handlers=False
            )
        except Exception:  # noqa: BLE001 - whatever it was: a worker that fails must not look like a slow one
            traceback.print_exc()
            os._exit(1)

    async def _add(self, job: Job) -> None:
        await self._configured(job).defer_async(number=job.number)

    async def _add_all(self, jobs: Sequence[Job]) -> None:
        """A batch shares its moment and its priority."""
        for _, alike in groupby(sorted(jobs, key=_terms), key=_terms):
            same = list(alike)
            for start in range(0, len(same), BATCH):
                batch = same[start : start + BATCH]
                arguments: list[JSONDict] = [{"number": job.number} for job in batch]
                await self._configured(batch[0]).batch_defer_async(*arguments)

    def _configured(self, job: Job) -> JobDeferrer:
        return self._app.configure_task("hit", schedule_at=job.due_at, priority=job.priority)

    async def _close(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            with suppress(asyncio.CancelledError):
                await self._worker
        await self._stack.aclose()


def _terms(job: Job) -> tuple[float, int]:
    return (0.0 if job.due_at is None else job.due_at.timestamp(), job.priority)


async def _execute(number: int) -> None:
    hit(number)


async def _retry_stalled(context: JobContext, timestamp: int) -> None:  # noqa: ARG001 - what periodic tasks are given
    manager = context.app.job_manager
    for job in await manager.get_stalled_jobs():
        await manager.retry_job(job)


CONTENDER = ProcrastinateContender

if __name__ == "__main__":
    serve(CONTENDER())
