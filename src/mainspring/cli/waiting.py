"""Waiting for executions, and telling what came of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from mainspring.cli.exits import Exit
from mainspring.cli.printing import Printer, run_sentence
from mainspring.cli.server import Server
from mainspring.cli.values import duration_of, json_text
from mainspring.client import ClientError, Execution


async def started(
    server: Server, show: Printer, run: Execution, *, wait: bool, wait_timeout: str | None, quiet: bool
) -> int | None:
    """Tell of an execution that was just made, and wait for it if that is wanted."""
    if quiet:
        show.text(f"{run.id}\n")
    elif not (wait and show.as_json):
        item = await server.fetch(f"/executions/{run.id}")
        show.answer(item, f"execution {run.id} of job {run.job_id}")
    return await wait_for(server, show, run, wait_timeout, quiet=quiet) if wait else None


async def wait_for(
    server: Server, show: Printer, of: Execution | UUID, wait_timeout: str | None, *, quiet: bool = False
) -> int:
    """Wait for the end and show it; the exit code says whether it succeeded."""
    timeout = None if wait_timeout is None else duration_of(wait_timeout, "--wait-timeout")
    workers = await server.workers()
    if not workers:
        show.note("no worker is alive, so it waits; start one with 'mainspring worker' or 'mainspring serve'")
    elif all(worker.status != "active" for worker in workers):
        show.note("every live worker is draining, so it waits; see 'mainspring worker list' and 'worker resume'")
    ended = await server.ended(of, timeout=timeout)
    item = await server.fetch(f"/executions/{ended.id}")
    if show.as_json:
        show.item(item)
    elif not quiet:
        show.answer(item, run_sentence(item))
        if item.get("result") is not None:
            show.text(json_text(item["result"]) + "\n")
    return Exit.OK if ended.status == "COMPLETED" else Exit.FAILED


@asynccontextmanager
async def stirred(server: Server) -> AsyncIterator[asyncio.Event]:
    """An event that is set whenever something changed at the server, as far as it tells."""
    stirring = asyncio.Event()

    async def listen() -> None:
        # Without events those who wait look again after a second anyway.
        with suppress(ClientError):
            async for _ in server.events():
                stirring.set()

    listening = asyncio.create_task(listen())
    try:
        yield stirring
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening


async def stir(stirring: asyncio.Event, at_most: float) -> None:
    """Return when something changed, or after *at_most* seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(at_most):
            await stirring.wait()
    stirring.clear()
