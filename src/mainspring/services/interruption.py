"""Waits that a stop cuts short, without a task for each: services wait several times a second, as long as they live."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

Wait = Callable[[timedelta], Coroutine[Any, Any, object]]
"""Returns after that long, or earlier if there is reason to."""


class Interruption:
    """Cuts the waits of one task short once *stop* is set; between them it leaves the task alone.

    It cancels the task itself and takes that back, as `asyncio.timeout` does; anybody else's cancellation passes.
    """

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._waiting: asyncio.Task[Any] | None = None
        self._came = False

    async def __aenter__(self) -> Self:
        self._watcher = asyncio.create_task(self._stop.wait())
        self._watcher.add_done_callback(self._come)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watcher.cancel()

    async def wait(self, wait: Wait, pause: timedelta) -> None:
        """Wait, unless *stop* is set, or until it is."""
        if self._stop.is_set():
            return
        task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]  # a coroutine that waits is in one
        before, self._waiting = task.cancelling(), task
        try:
            await wait(pause)
        except asyncio.CancelledError:
            if not self._came or task.cancelling() > before + 1:
                raise
        finally:
            self._waiting = None
            if self._came:
                task.uncancel()

    def _come(self, _: "asyncio.Task[Any]") -> None:
        if self._waiting is not None:
            self._came = True
            self._waiting.cancel()
