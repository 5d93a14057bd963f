"""How many jobs one client submits per second: a pool of coroutines against a server process of its own.

Run `python -m benchmarks.client_submit`; the goal is 1,000 per second with 32 coroutines.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from mainspring.client import Client
from mainspring.client.errors import Unavailable
from tests.docs.running import free_port


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """A server that stores jobs and runs none of them."""
    port = str(free_port())
    command = [str(Path(sys.executable).parent / "mainspring"), "api", "--port", port, "--data", str(folder)]
    environment = {**os.environ, "MAINSPRING_LOG_LEVEL": "warning"}
    server = subprocess.Popen(command, env=environment)  # noqa: ASYNC220, S603 - once, and it is our own program
    url = f"http://127.0.0.1:{port}"
    try:
        async with Client(url) as client:
            await up(client)
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


async def up(client: Client) -> None:
    give_up_at = time.monotonic() + 30
    while True:
        try:
            await client.metrics()
        except Unavailable:
            if time.monotonic() > give_up_at:
                raise
        else:
            return


async def submit(url: str, *, jobs: int, pool: int) -> timedelta:
    async with Client(url) as client:
        await client.submit("test.echo")
        left = iter(range(jobs))

        async def work() -> None:
            for number in left:
                await client.submit("test.echo", {"number": number}, schedule="2099-01-01T00:00:00Z")

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(pool)))
        return timedelta(seconds=time.perf_counter() - started)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--pool", type=int, default=32)
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        async with serving(Path(folder)) as url:
            took = await submit(url, jobs=asked.jobs, pool=asked.pool)
    rate = asked.jobs / took.total_seconds()
    print(f"{asked.jobs} jobs by {asked.pool} coroutines in {took.total_seconds():.2f} s: {rate:,.0f} per second")


if __name__ == "__main__":
    uvloop.run(main())
