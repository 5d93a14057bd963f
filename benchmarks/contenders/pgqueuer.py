"""PgQueuer on PostgreSQL, by asyncpg."""

import asyncio
import os
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg
import psycopg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job as PgQueuerJob
from pgqueuer.queries import Queries

from benchmarks.base import Peer
from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Server, Traits
from benchmarks.coroutines import LoopThread, from_coroutines
from benchmarks.hits import hit
from benchmarks.postgres_count import count

ENTRYPOINT = "hit"
QUEUE_MANAGERS = 2
DEQUEUE_BATCH = 1_000
ENQUEUE_BATCH = 5_000
POOL = 10
REMEMBER = b"""
    insert into pgqueuer_log (job_id, status, priority, entrypoint, aggregated)
    select -job, status::pgqueuer_status, 0, 'hit', true
    from generate_series(1, %s) as job cross join unnest(array['queued', 'picked', 'successful']) as status
"""
"""Three lines for each job, as it writes them itself."""


class PgQueuerContender(Peer):
    description = Description(
        title="PgQueuer (PostgreSQL)",
        settings=(
            f"asyncpg on uvloop, {QUEUE_MANAGERS} queue managers with a connection each in every worker process and "
            f"batches of {DEQUEUE_BATCH:,} (faster here than the 5 managers and batches of 10 of its own benchmark), "
            f"added by arrays of {ENQUEUE_BATCH:,}, single adds through a pool of {POOL} connections, durable tables "
            "(its default)"
        ),
        keeps="a line per change of state in its log table, without payload or result",
        loses="nothing; what a dead worker held comes back when its heartbeat is 30 s old, and may run again",
    )
    traits = Traits(server=Server.POSTGRESQL)

    def __init__(self) -> None:
        self._loop: LoopThread
        self._url = ""
        self._pool: asyncpg.Pool
        self._queries: Queries
        self._managers: list[PgQueuer] = []
        self._tasks: list[asyncio.Task[None]] = []

    def open(self, place: Place) -> None:
        self._loop = LoopThread()
        self._url = place.url
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
        return count(place.url, "select count(*) from pgqueuer")

    def fill_history(self, place: Place, count: int) -> None:
        with psycopg.connect(place.url, autocommit=True) as connection:
            connection.execute(REMEMBER, [count])

    async def _open(self) -> None:
        self._pool = await asyncpg.create_pool(self._url, min_size=1, max_size=POOL)
        self._queries = Queries(AsyncpgPoolDriver(self._pool))
        if not await self._queries.schema_is_installed():
            await self._queries.install()

    async def _work(self) -> None:
        for _ in range(QUEUE_MANAGERS):
            manager = PgQueuer(AsyncpgDriver(await asyncpg.connect(self._url)))

            @manager.entrypoint(ENTRYPOINT)
            async def execute(job: PgQueuerJob) -> None:
                hit(int(job.payload or b"0"))

            self._managers.append(manager)
            self._tasks.append(asyncio.create_task(self._run(manager)))

    async def _run(self, manager: PgQueuer) -> None:
        try:
            await manager.run(batch_size=DEQUEUE_BATCH)
        except Exception:  # noqa: BLE001 - whatever it was: a worker that fails must not look like a slow one
            traceback.print_exc()
            os._exit(1)

    async def _add(self, job: Job) -> None:
        await self._queries.enqueue(ENTRYPOINT, b"%d" % job.number, job.priority, _delay(job))

    async def _add_all(self, jobs: Sequence[Job]) -> None:
        for start in range(0, len(jobs), ENQUEUE_BATCH):
            batch = jobs[start : start + ENQUEUE_BATCH]
            await self._queries.enqueue(
                [ENTRYPOINT] * len(batch),
                [b"%d" % job.number for job in batch],
                [job.priority for job in batch],
                [_delay(job) for job in batch],
            )

    async def _close(self) -> None:
        for manager in self._managers:
            manager.shutdown.set()
        await asyncio.gather(*self._tasks)
        await self._pool.close()


def _delay(job: Job) -> timedelta | None:
    """Its interface takes a delay, not a moment."""
    return None if job.due_at is None else job.due_at - datetime.now(UTC)


CONTENDER = PgQueuerContender

if __name__ == "__main__":
    serve(CONTENDER())
