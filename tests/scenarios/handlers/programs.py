"""Programs that tests watch: a worker's shell handlers, and a way to see whether a process is alive."""

import asyncio
import os
import select
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mainspring.ports.time import Clock
from mainspring.testing.clock import ManualClock
from mainspring.worker.handlers.shell import Shell

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/home/worker", "LANG": "C.UTF-8", "PG_PASSWORD": "hidden"}
PATIENCE = 30
"""Seconds after which a test gives up: far more than anything here takes."""


@contextmanager
def a_shell(*, clock: Clock | None = None, environment: Mapping[str, str] = ENVIRONMENT) -> Iterator[Shell]:
    """The shell handlers, closed at the end of the block. Their grace lasts until a test moves the clock."""
    shell = Shell(clock=clock or ManualClock(), environment=environment)
    try:
        yield shell
    finally:
        shell.close()


async def gone(process: int) -> bool:
    """Whether the process has ended, or ends soon."""
    return await asyncio.to_thread(_wait_for_end, process)


async def written(path: Path) -> str:
    """The first line that a program writes into the file at *path*, once it is there."""
    return await asyncio.to_thread(_wait_for_line, path)


async def number_in(path: Path) -> int:
    """The number that a program writes into the file at *path*."""
    return int(await written(path))


def names_in(folder: Path) -> list[str]:
    """What lies in the folder."""
    return sorted(path.name for path in folder.iterdir())


def alive(process: int) -> bool:
    """Whether the process runs: not ended, and no zombie either."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_for_line(path: Path) -> str:
    give_up_at = time.monotonic() + PATIENCE
    while not path.exists() or not path.read_text().endswith("\n"):
        assert time.monotonic() < give_up_at, f"nobody writes {path.name}"
        time.sleep(0.01)
    return path.read_text()


def _wait_for_end(process: int) -> bool:
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], PATIENCE)[0])
    finally:
        os.close(descriptor)


def script(text: str, **fields: Any) -> dict[str, Any]:
    """A payload of `shell.script`."""
    return {"script": text, **fields}
