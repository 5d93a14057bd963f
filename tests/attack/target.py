"""A real `mainspring` process to attack, and what an innocent user sees of it meanwhile."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp

from tests.scenarios.serve.processes import PATIENCE, PLAIN, Place, Running, mainspring

JOBS = "/api/v1/jobs"
EXECUTIONS = "/api/v1/executions"
PROBES = ("/healthz", "/readyz", "/metrics")
ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})
ANSWER_WITHIN = 5.0
"""Seconds that a probe of Kubernetes or a load balancer would hardly wait longer than."""
PAUSE = 0.25


def under(*, descriptors: int | None = None, umask: int | None = None) -> str:
    """A program for `mainspring()` that narrows its own limits first, as `ulimit -n` and `umask` would."""
    lines = ["import os, resource"]
    if descriptors is not None:
        lines.append(f"resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors}))")
    if umask is not None:
        lines.append(f"os.umask({umask})")
    return "\n".join([*lines, PLAIN])


class Target:
    """An HTTP API, asked by a new connection each time: none is kept that an attacker could take away."""

    def __init__(self, running: Running, url: str) -> None:
        self.running = running
        self.url = url
        self.requests = 0
        self._client = aiohttp.ClientSession(
            url, connector=aiohttp.TCPConnector(force_close=True), timeout=aiohttp.ClientTimeout(PATIENCE)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """The status and text of an answer; the names of headers have `_` for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.requests += 1
        async with self._client.request(method, path, json=body, headers=named, allow_redirects=False) as answer:
            if answer.content_type == "text/event-stream":  # it has no end
                return answer.status, (await answer.content.readany()).decode()
            return answer.status, await answer.text()

    async def get(self, path: str) -> Any:
        """What a list, a job or an execution is."""
        self.requests += 1
        async with self._client.get(path) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def post(self, path: str, body: Any = None, expected: Collection[int] = (200, 201, 202)) -> Any:
        """What the API answers to a request that it accepts."""
        self.requests += 1
        async with self._client.post(path, json=body) as answer:
            assert answer.status in expected, await answer.text()
            return await answer.json()

    async def submitted(self, **fields: Any) -> str:
        """The id of a job that runs once, and of its execution."""
        return str((await self.post(JOBS, fields))["id"])

    async def submitted_at_last(self, key: str, **fields: Any) -> str:
        """The same with a key, repeated while no answer comes or none that is good."""
        async with asyncio.timeout(PATIENCE):
            while True:
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    status, answer = await self.ask("POST", JOBS, fields, Idempotency_Key=key)
                    if status in (200, 201):
                        return str(json.loads(answer)["id"])
                    assert status in (429, 503), answer
                await asyncio.sleep(PAUSE)

    async def everything(self, path: str) -> list[Mapping[str, Any]]:
        """A whole list, page by page."""
        found: list[Mapping[str, Any]] = []
        joint = "&" if "?" in path else "?"
        page = await self.get(f"{path}{joint}limit=100")
        found += page["items"]
        while page["next"] is not None:
            page = await self.get(f"{path}{joint}limit=100&cursor={page['next']}")
            found += page["items"]
        return found

    async def ended(self, execution: str, patience: float = PATIENCE) -> Mapping[str, Any]:
        """An execution once it has ended."""
        async with asyncio.timeout(patience):
            while True:
                found: Mapping[str, Any] = await self.get(f"{EXECUTIONS}/{execution}")
                if found["status"] in ENDED:
                    return found
                await asyncio.sleep(PAUSE)

    async def until_known(self, handler: str) -> None:
        """Wait until a worker has this handler."""
        async with asyncio.timeout(PATIENCE):
            while handler not in (await self.ask("GET", "/api/v1/handlers"))[1]:  # noqa: ASYNC110 - nothing tells it
                await asyncio.sleep(PAUSE)

    async def until_probed(self, path: str, status: int) -> None:
        """Ask a probe until it answers so."""
        async with asyncio.timeout(PATIENCE):
            while (await self.ask("GET", path))[0] != status:  # noqa: ASYNC110 - no event comes from there
                await asyncio.sleep(PAUSE)

    def complaints(self) -> list[str]:
        """What no attacker may cause in the log: tracebacks, by their last lines, and what isn't a log line at all."""
        found = []
        for line in self.running.lines:
            unknown = line.get("text", "") if line["event"] == "not a log line" else ""
            raised = str(line.get("exception", "")).strip().rpartition("\n")[2]
            if unknown or raised:
                found.append(f"{line['event'].strip()}: {unknown}{raised}")
        return found


@asynccontextmanager
async def attacked(place: Place, *arguments: str, role: str = "serve", program: str = PLAIN) -> AsyncIterator[Target]:
    """`mainspring serve` on a free port, ready."""
    async with (
        mainspring(place, role, "--port", "0", *arguments, program=program) as running,
        Target(running, await running.url()) as target,
    ):
        await target.until_probed("/readyz", 200)
        yield target


class Probing:
    """Asks the probes all the time, each by a connection of its own, and remembers what went wrong."""

    def __init__(self, target: Target, paths: Collection[str] = PROBES) -> None:
        self._target = target
        self._paths = paths
        self.asked = 0
        self.slowest = 0.0
        self.faults: list[str] = []

    async def run(self) -> None:
        while True:
            for path in self._paths:
                await self._probe(path)
            await asyncio.sleep(PAUSE)

    async def _probe(self, path: str) -> None:
        began = time.monotonic()
        self.asked += 1
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                status, text = await self._target.ask("GET", path)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            self.faults.append(f"{path}: {error!r}")
        else:
            if status != 200:
                self.faults.append(f"{path}: {status} {text[:100]}")
        self.slowest = max(self.slowest, time.monotonic() - began)


@asynccontextmanager
async def probed(target: Target) -> AsyncIterator[Probing]:
    """Probes go on while the block runs."""
    probing = Probing(target)
    task = asyncio.create_task(probing.run())
    try:
        yield probing
    finally:
        task.cancel()
