"""Waits that end when the run is asked to stop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from mainspring.worker.context import Context

T = TypeVar("T")


async def stoppable(context: Context, work: Coroutine[Any, Any, T]) -> T:
    """Return what *work* returns; once the run is asked to stop, cut it short as a cancelled wait would be.

    Why it was asked (a person, the timeout, the worker's end) only the worker knows, so that no failure of our own
    may hide it.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    watcher = loop.create_task(_stop(context, task))
    try:
        return await task
    finally:
        watcher.cancel()


async def _stop(context: Context, task: asyncio.Task[Any]) -> None:
    await context.cancelled.wait()
    task.cancel()
