"""Handlers of the killed workers: each call leaves a line in a file that survives its process."""

import asyncio
import os
import signal
from datetime import timedelta
from pathlib import Path

from mainspring import Context, handler

DIARY = Path("diary")
GATE = Path("gate")
BEAT = timedelta(milliseconds=50)


def note(text: str) -> None:
    """One append, so that a kill leaves a whole line or none."""
    descriptor = os.open(DIARY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{text}\n".encode())
    finally:
        os.close(descriptor)


@handler("diary.note")
async def effect(_payload: object, context: Context) -> None:
    """An effect and nothing else."""
    note(str(context.run_id))


@handler("diary.wait")
def wait(_payload: object, context: Context) -> str:
    """Say that it began, then wait for the gate to open."""
    note(f"{context.run_id} began under {context.fence} in {os.getpid()}")
    while not GATE.exists():
        if context.cancelled.wait_blocking(BEAT):
            return "stopped"
    return f"finished under {context.fence}"


@handler("diary.take")
async def take(_payload: object, context: Context) -> None:
    """Be at it for longer than a neighbour may take to kill the process."""
    note(f"{context.run_id} began under {context.fence} in {os.getpid()}")
    await asyncio.sleep(0.5)


@handler("diary.kill")
async def kill(_payload: object, context: Context) -> None:
    """Take the whole process down, once others have begun."""
    note(f"{context.run_id} began under {context.fence} in {os.getpid()}")
    await asyncio.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)
