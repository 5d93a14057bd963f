"""An event loop of its own for contenders whose interface is made of coroutines."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

import uvloop

from benchmarks.contender import Job

T = TypeVar("T")


class LoopThread:
    """Runs coroutines in a thread beside the one that obeys commands."""

    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, once there is one."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def call(self, coroutine: Coroutine[Any, Any, None]) -> int:
        """Run the coroutine to its end; the moment when it began, in nanoseconds: the way into the loop is ours."""

        async def timed() -> int:
            called_ns = time.time_ns()
            await coroutine
            return called_ns

        return self.do(timed())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


async def from_coroutines(add: Callable[[Job], Awaitable[None]], jobs: Sequence[Job], callers: int) -> None:
    """Call *add* once per job, from as many coroutines as there are *callers*."""

    async def caller(share: Sequence[Job]) -> None:
        for job in share:
            await add(job)

    await asyncio.gather(*(caller(jobs[first::callers]) for first in range(callers)))
