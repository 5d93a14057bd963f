"""Threads that never keep the process alive.

The standard pool joins its threads when the interpreter exits: a handler that hangs would then hang the whole worker
after it has drained. These threads are daemons, and a hung one ends with the process.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from mainspring.errors import exhaustion

T = TypeVar("T")
_Item = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop, contextvars.Context]


class DaemonThreads:
    """At most *size* threads, made when they are needed and kept."""

    def __init__(self, size: int, *, name: str) -> None:
        self._size = size
        self._name = name
        self._guard = threading.Lock()
        self._inbox: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._started = 0
        self._idle = 0

    async def call(self, function: Callable[[], T]) -> T:
        """Call *function* in a thread; cancelling the wait leaves the thread to its work. Exhausted without one."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._guard:
            # An idle thread may already be spoken for: whoever queues takes one off the count.
            if self._idle > 0:
                self._idle -= 1
            elif self._started < self._size:
                self._start()
            self._inbox.put((function, future, loop, contextvars.copy_context()))
        return await future

    def close(self) -> None:
        """Let the threads end when they have done what they were given; waits for none."""
        with self._guard:
            for _ in range(self._started):
                self._inbox.put(None)

    def _start(self) -> None:
        name = f"{self._name}-{self._started + 1}"
        try:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        except RuntimeError as error:
            raise exhaustion(error) or error from None
        self._started += 1

    def _work(self) -> None:
        while (item := self._inbox.get()) is not None:
            function, future, loop, context = item
            result, error = None, None
            try:
                result = context.run(function)
            except BaseException as raised:  # noqa: BLE001 - whatever it is, it belongs to the caller
                error = raised
            with self._guard:
                if self._inbox.empty():
                    self._idle += 1
            # The loop is closed when a hung thread comes back after the worker has gone.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, future, result, error)
            del item, function, future, result, error, context


def _resolve(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):
        # A future can't carry it: it would end the coroutine that waits.
        future.set_exception(RuntimeError(f"the function raised StopIteration: {error}"))
    else:
        future.set_exception(error)
