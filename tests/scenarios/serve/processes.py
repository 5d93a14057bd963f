"""Real `mainspring` processes, followed by their log lines."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.wiring.stores import Store, open_store

PATIENCE = 60
"""Seconds after which something that should have happened won't any more."""

PLAIN = "from mainspring.cli.main import run; run()"
# A worker that doesn't poll works only because somebody woke it.
WITHOUT_POLLS = """
from datetime import timedelta
from mainspring.worker.settings import WorkerSettings
WorkerSettings.__init__.__kwdefaults__["poll"] = timedelta(hours=1)
from mainspring.cli.main import run
run()
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where processes run, and the store that they share."""

    folder: Path
    store: str


def embedded(folder: Path) -> Place:
    """With a store in the data folder."""
    return Place(folder, f"sqlite:///{folder / 'data' / 'mainspring.db'}")


class Running:
    """A process and the log lines that it has written so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._more = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def line(self, event: str, **fields: Any) -> dict[str, Any]:
        """The first log line with this event and these fields, once it has been written."""

        def found() -> dict[str, Any] | None:
            matching = (line for line in self.lines if {**line, **fields, "event": event} == line)
            return next(matching, None)

        async with asyncio.timeout(PATIENCE), self._more:
            await self._more.wait_for(lambda: found() or self._reading.done())
        line = found()
        assert line is not None, f"no {event!r} in {self.lines}"
        return line

    async def url(self) -> str:
        return str((await self.line("listening"))["url"])

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE):
            await self._reading
            return await self.process.wait()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for text in self.process.stderr:
            try:
                line = json.loads(text)
            except ValueError:
                line = {"event": "not a log line", "text": text.decode()}
            async with self._more:
                self.lines.append(line)
                self._more.notify_all()
        async with self._more:
            self._more.notify_all()


@asynccontextmanager
async def mainspring(
    place: Place,
    *arguments: str,
    program: str = PLAIN,
    variables: Mapping[str, str] | None = None,
    data: Path | None = None,
) -> AsyncIterator[Running]:
    """Start a command in a folder, with `data` in it; it is killed if the test leaves it running."""
    where = ("--store", place.store, "--data", str(data or place.folder / "data"), "--log-format", "json")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, *arguments, *where),
        cwd=place.folder,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(variables or {})},
    )
    running = Running(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        await running.ended()


@asynccontextmanager
async def stored(place: Place) -> AsyncIterator[Store]:
    """The store of the processes that ran there."""
    store = await open_store(place.store, clock=SystemClock(), random=SystemRandom())
    try:
        yield store
    finally:
        await store.close()
