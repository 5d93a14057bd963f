"""The loop that a process or a command runs on. Commands start sooner without all else that processes need."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

SWITCH_INTERVAL = 0.001
"""Seconds that a thread may keep the interpreter while another wants it: the store's writer shares it with the loop."""


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* on the fastest loop there is."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        import uvloop  # noqa: PLC0415 - not everywhere
    except ImportError:
        loop_factory = None
    else:
        loop_factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(main)
