"""Waiting for whichever comes first, in the same order every time."""

import asyncio
from collections.abc import Awaitable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from mainspring.ports.time import Clock

T = TypeVar("T")


async def unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What *work* returns, or None if *stop* was set first: then the work is cancelled."""
    loop = asyncio.get_running_loop()
    task, watcher = loop.create_task(work), loop.create_task(stop.wait())
    watcher.add_done_callback(lambda _: task.cancel())
    try:
        return await task
    except asyncio.CancelledError:
        if task.cancelled() and stop.is_set():
            return None
        raise
    finally:
        watcher.cancel()


async def until_any(clock: Clock, at_most: timedelta, *events: asyncio.Event) -> None:
    """Return once one of *events* is set, or after *at_most*."""
    over = asyncio.Event()

    async def relay(awaitable: Awaitable[Any]) -> None:
        await awaitable
        over.set()

    loop = asyncio.get_running_loop()
    if any(event.is_set() for event in events) or at_most <= timedelta(0):
        return
    relays = [loop.create_task(relay(event.wait())) for event in events]
    relays.append(loop.create_task(relay(clock.sleep(at_most))))
    try:
        await over.wait()
    finally:
        for each in relays:
            each.cancel()
