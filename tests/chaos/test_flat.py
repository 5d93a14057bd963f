"""A worker beside PostgreSQL that has executed ten million is as large as it was after three million.

`MAINSPRING_TEST_EXECUTIONS=3000000 make chaos ARGS='-s tests/chaos/test_flat.py'` takes fewer, and measures from the
first million on. Heartbeats come every 0.3 s instead of every five, and weeks of history end every few seconds.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, fields
from datetime import timedelta
from itertools import count
from pathlib import Path
from statistics import linear_regression

import asyncpg
import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import Engine, connect
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.domain.ids import RANDOM_BITS, JobId, RunId, new_job_id
from mainspring.domain.run import NewRun, State
from mainspring.testing.factories import a_task
from mainspring.wiring.stores import Store
from tests.integration.postgres.weeks import a_week, monday, table_of
from tests.scenarios.serve.processes import Place, Running, mainspring, stored

EXECUTIONS = int(os.environ.get("MAINSPRING_TEST_EXECUTIONS", "10_000_000"))
SAMPLES = 40
WARM_UP = max(1_000_000, EXECUTIONS * 3 // 10)
"""After so many caches are full, and each thread has its memory; what is measured begins there."""
BATCH = 5_000
MOST_WAITING = 8 * BATCH
MOST_GROWTH = {"kibibytes": 4 * 1024, "descriptors": 4.0, "threads": 1.0}
"""How much the line through all samples may rise from the end of the warm-up to the end; a sample may stray further.

A pool may open some connections late, when the server was slow for once; a leak would be thousands.
"""
HANDLERS = """
from mainspring import Context, handler

@handler("flat.failing")
def failing(payload):
    raise ValueError(f"no luck with {payload}")

@handler("flat.printing")
async def printing(payload, context: Context):
    context.print(payload)
    return {"printed": payload}
"""
SHARES = {"flat.failing": 50, "flat.printing": 50, "test.echo": BATCH - 100}
"""What a batch consists of: all ends of an attempt, most of them good ones."""

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(6 * 3600)]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process holds after so many executions."""

    executions: int
    kibibytes: int
    descriptors: int
    threads: int

    @classmethod
    def of(cls, process: int, executions: int) -> "Sample":
        place = Path(f"/proc/{process}")
        status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
        descriptors = sum(1 for _ in (place / "fd").iterdir())
        return cls(executions, int(status["VmRSS"].split()[0]), descriptors, int(status["Threads"]))


def growths(samples: Sequence[Sample]) -> dict[str, float]:
    """By how much each figure rises over these samples, as the line says that fits them best."""
    at = [sample.executions for sample in samples]
    span = at[-1] - at[0]
    names = [field.name for field in fields(Sample)[1:]]
    return {name: linear_regression(at, [getattr(each, name) for each in samples]).slope * span for name in names}


def test_what_grows_by_a_byte_for_each_execution_is_noticed() -> None:
    def samples(grown: Callable[[int], int]) -> list[Sample]:
        return [Sample(number * 100_000, 100_000 + 500 * (number % 3) + grown(number), 20, 8) for number in range(70)]

    assert growths(samples(lambda _: 0))["kibibytes"] < MOST_GROWTH["kibibytes"]
    assert growths(samples(lambda number: number * 100_000 // 1024))["kibibytes"] > MOST_GROWTH["kibibytes"]


@pytest.fixture
def place(postgres_url: str, tmp_path: Path) -> Place:
    (tmp_path / "flat.py").write_text(HANDLERS)
    return Place(tmp_path, postgres_url)


async def test_a_worker_does_not_grow(place: Place) -> None:
    async with AsyncExitStack() as running:
        start = running.enter_async_context
        store = await start(stored(place))
        beating = ("--worker-ttl-seconds", "1")
        processes = {
            "worker": await start(mainspring(place, "worker", "--app", "flat", "--worker-name", "flat", *beating)),
            "scheduler": await start(mainspring(place, "scheduler")),
        }
        for process in processes.values():
            await process.line("session.opened")
        async with weeks_passing(place):
            samples = await sampled(store, processes)
    for name, taken in samples.items():
        grown = growths(taken)
        assert {figure for figure, growth in grown.items() if growth > MOST_GROWTH[figure]} == set(), (name, grown)


async def sampled(store: Store, processes: dict[str, Running]) -> dict[str, list[Sample]]:
    """Samples of each process from the end of the warm-up on, while everything is fed and executed."""
    feeding = asyncio.create_task(feed(store))
    samples: dict[str, list[Sample]] = {name: [] for name in processes}
    try:
        for part in range(SAMPLES + 1):
            wanted = WARM_UP + (EXECUTIONS - WARM_UP) * part // SAMPLES
            ended = await until_ended(store, wanted, feeding)
            for name, running in processes.items():
                running.lines.clear()  # else this process grows by what the others say
                samples[name].append(Sample.of(running.process.pid, ended))
                print(name, samples[name][-1], flush=True)  # noqa: T201 - whoever waits for an hour wants to see it
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    return samples


async def feed(store: Store) -> None:
    """Add executions until there were enough, never many more than are executed meanwhile."""
    clock, random = SystemClock(), SystemRandom()
    tasks = [a_task(handler=name, payload=b'"some text"') for name, share in SHARES.items() for _ in range(share)]
    added = 0
    while added < EXECUTIONS:
        while added - await ended_in(store) > MOST_WAITING:  # noqa: ASYNC110 - other processes call nobody here
            await asyncio.sleep(0.05)
        moment = clock.now()
        ids = [new_job_id(moment, random.bits(RANDOM_BITS)) for _ in tasks]
        runs = [NewRun(id=RunId(job), job_id=JobId(job), task=task) for job, task in zip(ids, tasks, strict=True)]
        await store.work.add(runs)
        added += len(tasks)


async def until_ended(store: Store, wanted: int, feeding: "asyncio.Task[None]") -> int:
    """How many have ended, once these have."""
    stuck_since, before = 0.0, -1
    loop = asyncio.get_running_loop()
    while (ended := await ended_in(store)) < wanted:
        if feeding.done():
            feeding.result()
        if ended != before:
            stuck_since, before = loop.time(), ended
        assert loop.time() - stuck_since < 300, f"{ended} of {wanted} have ended, and no more do"
        await asyncio.sleep(0.2)
    return ended


async def ended_in(store: Store) -> int:
    tallies = (await store.views.figures()).tallies
    return sum(tally.ended.get(state, 0) for tally in tallies for state in State)


@asynccontextmanager
async def weeks_passing(place: Place) -> AsyncIterator[None]:
    """Weeks of history begin and are dropped all the time, and this one is emptied: disks aren't what is measured."""
    async with AsyncExitStack() as closing:
        store = await closing.enter_async_context(stored(place))
        engine = Engine(address(place.store), SystemRandom())
        await engine.open()
        closing.push_async_callback(engine.close)
        connection = await connect(engine.address)
        closing.push_async_callback(connection.close)
        await connection.execute("SET lock_timeout = '2s'")
        this_week = table_of(await monday(engine, 0))

        async def pass_weeks() -> None:
            for number in count():
                await a_week(engine, 60 + number % 100)
                while await store.upkeep.prune(timedelta(weeks=50), 1_000):
                    pass
                with suppress(asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):  # then the next time
                    await connection.execute(f"TRUNCATE {this_week}")
                await asyncio.sleep(2)

        passing = asyncio.create_task(pass_weeks())
        try:
            yield
            if passing.done():
                passing.result()
        finally:
            passing.cancel()
            await asyncio.gather(passing, return_exceptions=True)
