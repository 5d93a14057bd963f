"""Handlers of the workers that are killed: each attempt delivers something to a sink, which stands for the world."""

import asyncio
import os
import signal
from typing import Any

import aiohttp

from mainspring import Context, handler


@handler("sink.deliver")
async def deliver(payload: Any, context: Context) -> int:
    """Tell the sink who delivers under which token, and return the token."""
    await _tell(payload["sink"], context)
    return int(context.fence)


@handler("sink.wait")
async def wait(payload: Any, context: Context) -> int:
    """Tell the sink, then take a while."""
    await _tell(payload["sink"], context)
    await asyncio.sleep(payload["seconds"])
    return int(context.fence)


@handler("sink.poison")
async def poison(payload: Any, context: Context) -> None:
    """Tell the sink, then kill the worker."""
    await _tell(payload["sink"], context)
    await asyncio.sleep(payload["seconds"])
    os.kill(os.getpid(), signal.SIGKILL)


async def _tell(sink: str, context: Context) -> None:
    delivery = {"execution": str(context.run_id), "token": int(context.fence), "pid": os.getpid()}
    async with aiohttp.ClientSession() as client, client.post(sink, json=delivery) as answer:
        answer.raise_for_status()
