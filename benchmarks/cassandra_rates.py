"""What the store makes of one Cassandra node: `python -m benchmarks.cassandra_rates`.

Every rate stands beside another of the same run, on the same node, with the cores that the node took: on their own they
say more about the machine than about us. What is compared is measured in rounds, one after the other in each, since a
node tidies up whenever it likes, and is half as fast meanwhile; medians count.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median

import psutil  # type: ignore[import-untyped]  # psutil ships no types

from mainspring.adapters.cassandra.address import address
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Bridge
from mainspring.adapters.cassandra.layout import SHARDS
from mainspring.adapters.cassandra.migrate import open_driver
from mainspring.adapters.cassandra.rows import MOST_CHANGES, Change, Put, Row
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.adapters.cassandra.tables import RUN
from mainspring.adapters.cassandra.totals import read_totals
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.domain.ids import DEFAULT_LANE, RANDOM_BITS, JobId, Lane, RunId, new_job_id
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task
from mainspring.ports.sessions import NewSession, Role
from servers.cassandra import CassandraCluster

HANDLER, UNHURRIED = "noop", "unhurried"
PAUSE = 0.1
"""Seconds that a run of the unhurried handler waits."""
FEW_SLOTS = 16
"""Slots of a worker that executes it: so many runs per pause are all that it can do, however quick the node is."""
APPLICATION = f"""
import asyncio
import os

from mainspring import handler

LANE = os.environ["BENCH_LANE"]

@handler("{HANDLER}", lane=LANE)
async def execute(payload: object) -> None:
    pass

@handler("{UNHURRIED}", lane=LANE)
async def pause(payload: object) -> None:
    await asyncio.sleep({PAUSE})
"""
ADDED_AT_ONCE = 1_000
SETTLING_DOWN = 45.0
"""Seconds until whatever polls has found that there is nothing to do."""
LISTENING = 20.0
UNHURRIED_SECONDS = 15.0
"""What the unhurried workers have to do, if nothing holds them up."""
COMPILERS = ("C1 Compiler", "C2 Compiler")
"""Threads of the node that make the code faster that it needs most, by how their names begin."""
STILL_COMPILING = 0.1
"""The part of the node's time that they take until it is warm: of a queue that is emptied, at first they take half."""
MOST_WARM_UPS = 12
ROUNDS = 5
TICKS = 50
TIDYING = frozenset({"CompactionExecutor", "MemtableFlushWriter", "MemtablePostFlush", "MemtableReclaimMemory"})
"""Pools of the node's threads that write to disk what it was given, and put it in order."""
AT_REST = 5.0
"""Seconds for which they must have had nothing to do."""
LONGEST_TIDYING = 300.0
LOOK = 0.2
"""Seconds between two looks at the figures, which mustn't cost what they measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """So many of something in so many seconds, and the cores that the node was busy with it on average."""

    count: float
    seconds: float
    node_cores: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds

    def __str__(self) -> str:
        return f"{self.rate:>10,.0f}/s   node {self.node_cores:.2f} cores"


class Bench:
    """One node, one keyspace."""

    def __init__(self, cluster: CassandraCluster, rows: CqlRows, bridge: Bridge, store: CassandraStore) -> None:
        self.rows = rows
        self.store = store
        self.url = cluster.url()
        self._bridge = bridge
        self._node = psutil.Process(cluster.nodes[0].pid)
        self._random = SystemRandom()
        self._lanes = 0

    async def measured(self, work: Callable[[], Awaitable[float]]) -> Measured:
        """What *work* counted, with how long it took."""
        begun, busy = time.perf_counter(), self._busy()
        count = await work()
        seconds = time.perf_counter() - begun
        return Measured(count=count, seconds=seconds, node_cores=(self._busy() - busy) / seconds)

    def _busy(self) -> float:
        times = self._node.cpu_times()
        return float(times.user + times.system)

    async def warm_up(self, runs: int) -> int:
        """Empty queue after queue until the node has compiled what it needs for it; how many that took."""
        for queues in range(1, MOST_WARM_UPS + 1):
            busy, compiling = self._busy(), self._compiling()
            await self.worked(runs, 1)
            if self._compiling() - compiling < STILL_COMPILING * (self._busy() - busy):
                return queues
        return MOST_WARM_UPS

    def _compiling(self) -> float:
        """Seconds that the node has spent on making its own code faster."""
        seconds = 0.0
        for thread in self._node.threads():
            with suppress(FileNotFoundError):  # it has just ended
                name = Path(f"/proc/{self._node.pid}/task/{thread.id}/comm").read_text()
                seconds += (thread.user_time + thread.system_time) * name.startswith(COMPILERS)
        return seconds

    async def decided(self, rows: int, at_once: int) -> Measured:
        """Rows changed by conditional batches of *at_once*: one by one in a partition, all partitions abreast."""
        slot = self._random.bits(40)
        per_shard = rows // SHARDS
        ids = [[self._id() for _ in range(per_shard)] for _ in range(SHARDS)]
        for shard, mine in enumerate(ids):
            await self.rows.put([_row(shard, slot, run_id) for run_id in mine])

        async def decide(shard: int) -> None:
            for start in range(0, per_shard, at_once):
                changes = [_claim(run_id) for run_id in ids[shard][start : start + at_once]]
                assert await self.rows.cas_batch(RUN, (shard, slot), changes) is None

        async def decide_all() -> float:
            await asyncio.gather(*(decide(shard) for shard in range(SHARDS)))
            return per_shard * SHARDS

        return await self.measured(decide_all)

    async def add(
        self, count: int, delay: timedelta = timedelta(0), handler: str = HANDLER, lane: Lane = DEFAULT_LANE
    ) -> None:
        """Store so many runs that are due after *delay*, an hour's worth of minutes apart at most."""
        for start in range(0, count, ADDED_AT_ONCE):
            spread = delay + timedelta(seconds=start * 3600 / count) if delay else delay
            number = min(ADDED_AT_ONCE, count - start)
            await self.store.work.add([self._run(spread, handler, lane) for _ in range(number)])

    async def worked(self, runs: int, workers: int, *, handler: str = HANDLER, options: Sequence[str] = ()) -> Measured:
        """Rows changed by so many worker processes that work through a queue: each run is claimed and settled.

        Each queue is a lane of its own: workers are killed in the end, and what they leave behind is in nobody's way.
        Measured while all have work, from a tenth of the queue to nine tenths.
        """
        self._lanes += 1
        lane = Lane(f"bench-{self._lanes}")
        await self.add(runs, handler=handler, lane=lane)
        ended_before = await self._ended()
        async with self._workers(workers, lane, options):
            await self._until_ended(ended_before + runs // 10)

            async def empty() -> float:
                first = await self._ended()
                return 2 * (await self._until_ended(ended_before + runs * 9 // 10) - first)

            return await self.measured(empty)

    async def rounds(self, runs: int) -> Mapping[str, Sequence[Measured]]:
        """Everything that is compared, several times."""
        taken: defaultdict[str, list[Measured]] = defaultdict(list)
        for _ in range(ROUNDS):
            taken["raw batches"].append(await self.decided(runs, MOST_CHANGES))
            taken["raw single rows"].append(await self.decided(max(runs // 20, SHARDS), 1))
            for workers in (1, 2, 4):
                taken[f"workers: {workers}"].append(await self.worked(runs, workers))
        return taken

    async def unhurried(self, workers: int) -> Measured:
        """The same by workers that wait for their own handlers most of the time, so that the node has room."""
        runs = int(UNHURRIED_SECONDS * FEW_SLOTS / PAUSE) * workers
        return await self.worked(runs, workers, handler=UNHURRIED, options=["--concurrency", str(FEW_SLOTS)])

    async def idle(self) -> Measured:
        """Reads that an idle worker, scheduler and API ask of the node."""
        async with self._processes([["serve", "--port", "0"]]):
            await asyncio.sleep(SETTLING_DOWN)

            async def listen() -> float:
                before = await self._reads()
                await asyncio.sleep(LISTENING)
                return await self._reads() - before

            return await self.measured(listen)

    async def tick(self) -> tuple[float, float]:
        """Milliseconds that a claim and a look at the timetable take when nothing is due."""
        session = await self.store.sessions.open(
            NewSession(role=Role.WORKER, name="bench", host="bench", pid=os.getpid(), ttl=timedelta(minutes=10))
        )
        claims = [await _timed(lambda: self.store.work.claim(session, [DEFAULT_LANE], 100)) for _ in range(TICKS)]
        looks = [await _timed(lambda: self.store.timetable.due(100)) for _ in range(TICKS)]
        await self.store.sessions.close(session)
        return median(claims), median(looks)

    async def until_at_rest(self) -> float:
        """Return when the node has put in order what it was given, with how many seconds that took."""
        begun = quiet_since = time.perf_counter()
        while (now := time.perf_counter()) - quiet_since < AT_REST:
            if now - begun > LONGEST_TIDYING:
                raise TimeoutError(f"the node is still busy with its files after {LONGEST_TIDYING:.0f} s")
            pools = await self._bridge.run("SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools")
            if any(pool["active_tasks"] or pool["pending_tasks"] for pool in pools if pool["name"] in TIDYING):
                quiet_since = time.perf_counter()
            await asyncio.sleep(LOOK)
        return time.perf_counter() - begun

    async def _until_ended(self, wanted: int) -> int:
        while (ended := await self._ended()) < wanted:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(LOOK)
        return ended

    async def _ended(self) -> int:
        """By the ledger alone: to ask for all figures is to read every run that is in a worker's hands."""
        return sum(sum(totals.ended.values()) for totals in (await read_totals(self.rows)).values())

    async def _reads(self) -> float:
        tables = await self._bridge.run("SELECT keyspace_name, count FROM system_views.coordinator_read_latency")
        return float(sum(row["count"] for row in tables if not str(row["keyspace_name"]).startswith("system")))

    @asynccontextmanager
    async def _workers(self, count: int, lane: Lane, options: Sequence[str]) -> AsyncIterator[None]:
        names = [f"bench-{number}" for number in range(count)]
        commands = [["worker", "--app", "bench_app", "--worker-name", name, *options] for name in names]
        async with self._processes(commands, lane):
            yield

    @asynccontextmanager
    async def _processes(self, commands: Sequence[Sequence[str]], lane: Lane = DEFAULT_LANE) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "bench_app.py").write_text(APPLICATION)  # noqa: ASYNC240 - nobody else waits
            program = [sys.executable, "-c", "from mainspring.cli.main import run; run()"]
            options = ["--store", self.url, "--data", folder, "--log-format", "json", "--log-level", "error"]
            environment = {**os.environ, "BENCH_LANE": lane}
            started = [
                await asyncio.create_subprocess_exec(*program, *command, *options, cwd=folder, env=environment)
                for command in commands
            ]
            try:
                yield
            finally:
                for process in started:
                    process.kill()
                    await process.wait()

    def _id(self) -> RunId:
        return RunId(new_job_id(SystemClock().now(), self._random.bits(RANDOM_BITS)))

    def _run(self, delay: timedelta, handler: str, lane: Lane) -> NewRun:
        run_id = self._id()
        return NewRun(id=run_id, job_id=JobId(run_id), task=Task(handler=handler, lane=lane), due=delay)


def _row(shard: int, slot: int, run_id: RunId) -> Put:
    row: Row = {
        "shard": shard,
        "slot": slot,
        "id": run_id,
        "handler": HANDLER,
        "lane": "default",
        "state": 0,
        "fence": 0,
    }
    return Put(table=RUN, row=row, original=True)


def _claim(run_id: RunId) -> Change:
    values: Row = {
        "state": 1,
        "fence": 1,
        "session": 1,
        "worker": "bench",
        "attempt": 1,
        "started_at": 1,
        "deadline_at": 2,
    }
    return Change(key=(run_id,), values=values, expected={"state": 0, "fence": 0})


def _rates(measured: Sequence[Measured]) -> str:
    """The median, all of them in their order, and the node's cores."""
    each = " ".join(f"{one.rate:,.0f}" for one in measured)
    cores = median(one.node_cores for one in measured)
    return f"{_rate(measured):>10,.0f}/s   node {cores:.2f} cores   [{each}]"


def _rate(measured: Sequence[Measured]) -> float:
    return median(one.rate for one in measured)


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return (time.perf_counter() - begun) * 1000


@asynccontextmanager
async def benched() -> AsyncIterator[Bench]:
    async with AsyncExitStack() as closing:
        cluster = closing.enter_context(CassandraCluster())
        clock = SystemClock()
        driver, _ = await open_driver(address(cluster.url()))
        closing.push_async_callback(driver.close)
        store = CassandraStore.over(CqlRows(driver), clock=clock, random=SystemRandom())
        yield Bench(cluster, CqlRows(driver), Bridge(driver), store)


async def main(runs: int, waiting: int) -> None:
    async with benched() as bench:
        # First: six minutes after runs were stored their homes are audited, which takes reads for each of them.
        print(f"idle: reads                        {await bench.idle()}   (goal below 50)")
        # A cold virtual machine is ten times as slow, and compiles for as long as anything is new to it.
        await bench.decided(runs, MOST_CHANGES)
        print(f"warm after {await bench.warm_up(runs)} queues")
        taken = await bench.rounds(runs)
        for name, measured in taken.items():
            print(f"rows: {name:20} {_rates(measured)}")
        batches, singles, *workers = map(_rate, taken.values())
        print(f"  one or two workers, of the batches      {max(workers[:2]) / batches:.2f}   (goal 0.50)")
        print(f"  times the single rows                   {max(workers[:2]) / singles:.1f}    (goal 5)")
        print(
            f"  four workers, times one                 {workers[2] / workers[0]:.2f}   (as far as the node has room)"
        )
        one, four = await bench.unhurried(1), await bench.unhurried(4)
        print(f"room: one worker of {FEW_SLOTS} slots        {one}")
        print(f"room: four of them                 {four}")
        print(f"  times one worker                 {four.rate / one.rate:.2f}   (goal 2.5)")
        await bench.until_at_rest()
        await bench.tick()
        empty = await bench.tick()
        await bench.add(waiting, delay=timedelta(hours=1))
        tidied = await bench.until_at_rest()
        await bench.tick()
        full = await bench.tick()
        print(f"tick: the node came to rest       {tidied:10,.0f} s after the last was written")
        for name, before, after in zip(("claim", "timetable"), empty, full, strict=True):
            print(f"tick: {name:9} {before:6.1f} ms with none waiting, {after:6.1f} ms with {waiting:,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40_000, help="runs per measure")
    parser.add_argument("--waiting", type=int, default=1_000_000, help="runs that wait while ticks are timed")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.runs, arguments.waiting))
