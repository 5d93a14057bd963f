"""A disk that others fill up: what was acknowledged is kept, the rest is refused, and the probes say how things are."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.attack.conftest import Did
from tests.attack.target import JOBS, PAUSE, Target, attacked
from tests.missing import do_without
from tests.scenarios.serve.processes import PATIENCE, embedded

pytestmark = pytest.mark.attack

ROOM = 12 * 1024**2
FULL_FOR = 8.0
"""Seconds; longer than a heartbeat, and long enough for a probe that believes what it saw before."""
MOST_JOBS = 500
LARGE = "x" * 100_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of some megabytes; only root may make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ("mount", "-t", "tmpfs", "-o", f"size={ROOM}", "mainspring", str(folder))
    if os.geteuid() != 0 or subprocess.run(mounting, check=False, capture_output=True).returncode != 0:
        do_without("only root may mount a small file system")
    yield folder
    subprocess.run(("umount", "--lazy", str(folder)), check=True)


@asynccontextmanager
async def filled(folder: Path) -> AsyncIterator[None]:
    """Not a byte is free while the block runs."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    yield
    ballast.unlink()


async def submitted_until_refused(target: Target) -> tuple[list[str], int]:
    """What was acknowledged, and how often an answer was a refusal, in as many requests as may be."""
    acknowledged, refused = [], 0
    for number in range(MOST_JOBS):
        job = {"handler": "test.echo", "payload": LARGE, "schedule": "in 1h", "key": f"large-{number}"}
        status, text = await target.ask("POST", JOBS, job)
        if status == 201:
            acknowledged.append(json.loads(text)["id"])
        else:
            assert (status, "store_full" in text) == (503, True), text[:200]
            refused += 1
            if refused >= 3:
                break
    return acknowledged, refused


async def health(target: Target) -> str:
    return str(json.loads((await target.ask("GET", "/api/v1/health"))[1])["status"])


async def test_the_probes_tell_that_the_disk_is_full_and_that_there_is_room_again(small_disk: Path, did: Did) -> None:
    async with attacked(embedded(small_disk)) as target:
        before = await target.submitted(handler="test.echo", payload="before")
        await target.ended(before)
        async with filled(small_disk):
            acknowledged, refused = await submitted_until_refused(target)
            assert refused, "the disk was never full"
            await target.until_probed("/readyz", 503)
            assert (await target.ask("GET", "/healthz"))[0] == 200, "a restart empties no disk"
            assert await health(target) == "degraded"
            await asyncio.sleep(FULL_FOR)
            assert (await target.ask("GET", "/readyz"))[0] == 503, "nobody submits, and the disk is still full"
            assert (await target.ask("GET", "/healthz"))[0] == 200
        # Nobody submits while the process isn't ready: it finds out by itself.
        await target.until_probed("/readyz", 200)
        async with asyncio.timeout(PATIENCE):
            while await health(target) != "healthy":  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(PAUSE)
        after = await target.submitted(handler="shell.script", payload="echo after")
        assert (await target.ended(after))["status"] == "COMPLETED"
        kept = {each["id"] for each in await target.everything(JOBS)}
        assert kept == {before, after, *acknowledged}, "what was acknowledged, and nothing else"
        assert not target.complaints()
        did(requests=target.requests, acknowledged=len(acknowledged), refused=refused)


async def test_work_that_is_under_way_when_the_disk_fills_up_is_neither_lost_nor_charged(
    small_disk: Path, did: Did
) -> None:
    script = "head -c 200000 /dev/zero | tr '\\0' x; sleep 1"
    job = {"handler": "shell.script", "payload": {"script": script}, "max_retries": 0}
    async with attacked(embedded(small_disk), "--concurrency", "4") as target:
        jobs = [await target.submitted(**job) for _ in range(8)]
        async with filled(small_disk):
            await asyncio.sleep(FULL_FOR)
        ended = [await target.ended(each) for each in jobs]
        assert [(each["status"], each["error"]) for each in ended] == [("COMPLETED", None)] * len(jobs)
        assert not target.complaints()
        did(jobs=len(jobs))
