"""kill -9 of whoever adds many jobs at once: of each batch the server has all or nothing, as was acknowledged."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import connect
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.ports.work import Addition
from tests.integration.postgres.adding import BATCH, batches

KILLS = 4
OCCUPY = """
INSERT INTO queue (id, job_id, due_at, wake_at, timeout, kind, priority, owner, project, name, lane, handler, payload)
VALUES ($1, $1, now(), now(), '1 s', 0, 0, '', '', '', '', '', '')
"""
COPYING = "SELECT pid FROM pg_stat_progress_copy WHERE tuples_processed > 0 AND $1 = ANY (pg_blocking_pids(pid))"
STORED = """
SELECT name, count(*), (SELECT sum(amount) FROM tally WHERE what = 'added') AS counted FROM queue GROUP BY name
"""


@asynccontextmanager
async def adder(url: str, seed: int) -> AsyncIterator[Process]:
    """A process that adds, killed at the end if not before."""
    command = [sys.executable, "-m", "tests.integration.postgres.adding", url, str(seed)]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def until_nobody_writes(url: str) -> None:
    """Return when the server has ended the transactions of those who are gone."""
    connection = await connect(address(url))
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE queue IN EXCLUSIVE MODE")
    finally:
        await connection.close()


async def test_nothing_is_left_of_a_copy_whose_process_was_killed_in_the_middle(
    store: PostgresStore, postgres_url: str
) -> None:
    batch = next(batches(seed=0))
    slow = await connect(address(postgres_url))
    try:
        await slow.execute("BEGIN")
        await slow.execute(OCCUPY, batch[-1].id)
        async with adder(postgres_url, seed=0) as process:
            while await store._engine.value(COPYING, slow.get_server_pid()) is None:
                assert process.returncode is None, "it doesn't copy"
    finally:
        await slow.close()
    await until_nobody_writes(postgres_url)
    assert await store._engine.value("SELECT count(*) FROM queue") == 0
    assert await store._engine.value("SELECT count(*) FROM tally") == 0
    assert {answer.kind for answer in await store.work.add(batch)} == {Addition.CREATED}


async def test_killed_adders_leave_whole_batches_and_all_that_were_acknowledged(
    store: PostgresStore, postgres_url: str
) -> None:
    chance, acknowledged = Random(4), set[str]()
    for seed in range(KILLS):
        async with adder(postgres_url, seed) as process:
            assert process.stdout is not None
            lines = [await process.stdout.readline() for _ in range(chance.randrange(1, 10))]
            process.kill()
            lines += [line async for line in process.stdout]
        acknowledged |= {line.decode().strip() for line in lines if line.endswith(b"\n")}
    stored = await store._engine.fetch(STORED)
    assert {row["count"] for row in stored} == {BATCH}
    assert {row["counted"] for row in stored} == {BATCH * len(stored)}
    assert acknowledged <= {row["name"] for row in stored}
