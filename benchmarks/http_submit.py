"""How fast one server process takes jobs over HTTP while its own worker executes them, and how fast it answers then.

Run `python -m benchmarks.http_submit`. The goals on two cores: 2,500 single POSTs per second from 32 connections,
30,000 jobs per second in batches of 10,000, and a GET of a job within 10 ms (99 of 100) beside 5,000 jobs per second.
Processor time is the server's: it tells more than the rate on a machine that does something else besides.
"""

import argparse
import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import uvloop

from benchmarks.usage import usage
from tests.docs.running import free_port

PATIENCE = 60
JOBS = "/api/v1/jobs"
BATCH = 10_000
FED_EVERY = 0.1
ASKED_EVERY = 0.005


@dataclass(frozen=True)
class Connection:
    """A connection that is kept, for one request at a time; it costs little, so that the server is what is measured."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The body of the answer, which must be a good one."""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        text = await self.reader.readexactly(length)
        if not answer.startswith(b"http/1.1 2"):
            raise RuntimeError(text.decode())
        return text


@dataclass(frozen=True)
class Served:
    """A server process of our own."""

    url: str
    pid: int

    async def connect(self) -> Connection:
        place = urlsplit(self.url)
        return Connection(*await asyncio.open_connection(place.hostname, place.port, limit=64 * 1024 * 1024))

    def processor_time(self) -> float:
        return usage(self.pid).cpu_seconds


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Served]:
    """API, scheduler and worker in one process."""
    port = str(free_port())
    command = [str(Path(sys.executable).parent / "mainspring"), "serve", "--port", port, "--data", str(folder)]
    environment = {**os.environ, "MAINSPRING_LOG_LEVEL": "warning"}
    server = subprocess.Popen(command, env=environment)  # noqa: ASYNC220, S603 - once, and it is our own program
    try:
        served = Served(f"http://127.0.0.1:{port}", server.pid)
        await up(served)
        yield served
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


async def up(served: Served) -> None:
    """Wait until it is ready."""
    give_up_at = time.monotonic() + PATIENCE
    while True:
        try:
            await (await served.connect()).ask("GET", "/readyz")
        except (OSError, RuntimeError, asyncio.IncompleteReadError):
            if time.monotonic() > give_up_at:
                raise
            await asyncio.sleep(0.1)
        else:
            return


def job(number: int) -> dict[str, Any]:
    """One of many that are alike."""
    return {"handler": "test.echo", "payload": {"number": number}}


async def idle(served: Served) -> None:
    """Wait until everything was executed."""
    connection = await served.connect()
    while json.loads(await connection.ask("GET", "/api/v1/metrics"))["totals"]["live"]:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.2)


async def timed(
    served: Served, amount: int, connections: int, request: Callable[[Connection, int], Awaitable[object]]
) -> tuple[float, float]:
    """Requests per second and the server's processor time for each, from that many connections at once."""
    opened = [await served.connect() for _ in range(connections)]
    left = iter(range(amount))

    async def work(connection: Connection) -> None:
        for number in left:
            await request(connection, number)

    used, started = served.processor_time(), time.perf_counter()
    await asyncio.gather(*map(work, opened))
    took = time.perf_counter() - started
    return amount / took, (served.processor_time() - used) / amount


async def post_one(connection: Connection, number: int) -> None:
    await connection.ask("POST", JOBS, json.dumps(job(number)).encode())


async def post_batch(connection: Connection, _number: int) -> None:
    await connection.ask("POST", f"{JOBS}/batch", WHOLE_BATCH)


WHOLE_BATCH = json.dumps({"jobs": [job(number) for number in range(BATCH)]}).encode()


async def waits_under_load(served: Served, per_second: int, seconds: float) -> tuple[Sequence[float], float]:
    """How long GETs of a job took, sorted, while that many jobs a second came; and how many were executed a second."""
    asking, feeding = await served.connect(), await served.connect()
    path = f"{JOBS}/{json.loads(await asking.ask('POST', JOBS, json.dumps(job(0)).encode()))['id']}"
    part = json.dumps({"jobs": [job(number) for number in range(int(per_second * FED_EVERY))]}).encode()
    over = time.perf_counter() + seconds

    async def feed() -> None:
        for due in itertools.takewhile(lambda due: due < over, itertools.count(time.perf_counter(), FED_EVERY)):
            await asyncio.sleep(due - time.perf_counter())
            await feeding.ask("POST", f"{JOBS}/batch", part)

    async def ask() -> list[float]:
        waits = []
        while (started := time.perf_counter()) < over:
            await asking.ask("GET", path)
            waits.append(time.perf_counter() - started)
            await asyncio.sleep(ASKED_EVERY)
        return waits

    before, started = await completed(served), time.perf_counter()
    waits, _ = await asyncio.gather(ask(), feed())
    return sorted(waits), (await completed(served) - before) / (time.perf_counter() - started)


async def completed(served: Served) -> int:
    """How many jobs were executed so far; asked anew, since a server closes connections that say nothing for long."""
    connection = await served.connect()
    totals = json.loads(await connection.ask("GET", "/api/v1/metrics"))["totals"]
    return int(totals["completed"])


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--batch-connections", type=int, default=2)
    parser.add_argument("--load", type=int, default=5_000, help="jobs per second beside the GETs")
    parser.add_argument("--seconds", type=float, default=10)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        async with serving(Path(folder)) as served:
            await timed(served, 200, asked.connections, post_one)
            rate, used = await timed(served, asked.posts, asked.connections, post_one)
            print(f"single POSTs by {asked.connections} connections: {rate:,.0f} per second, {used * 1e6:.0f} µs each")
            await idle(served)
            waits, executed = await waits_under_load(served, asked.load, asked.seconds)
            p50, p99 = (waits[int(len(waits) * part)] * 1e3 for part in (0.5, 0.99))
            print(f"GET while {executed:,.0f} jobs per second run: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
        # Batches come faster than they are executed: what is left of them would spoil what is measured after them.
        async with serving(Path(folder)) as served:
            await idle(served)
            rate, used = await timed(served, asked.batches, asked.batch_connections, post_batch)
            print(f"batches of {BATCH:,}: {rate * BATCH:,.0f} jobs per second, {used / BATCH * 1e6:.1f} µs each")


if __name__ == "__main__":
    uvloop.run(main())
