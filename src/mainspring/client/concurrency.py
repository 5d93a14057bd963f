"""Waiting and background work, once for coroutines and once for threads: all that the two clients don't share."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")


async def async_sleep(duration: timedelta) -> None:
    """Let other coroutines run for *duration*."""
    await asyncio.sleep(duration.total_seconds())


def sleep(duration: timedelta) -> None:
    """Block the thread for *duration*."""
    time.sleep(duration.total_seconds())


@asynccontextmanager
async def async_closing(items: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Let go of what *items* hold, also if they aren't read to their end."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


@contextmanager
def closing(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """Let go of what *items* hold, also if they aren't read to their end."""
    try:
        yield items
    finally:
        if isinstance(items, Generator):
            items.close()


class AsyncRepeater:
    """Repeats a step until it says False; then whoever made the repeater is interrupted."""

    def __init__(self, step: Callable[[], Awaitable[bool]], every: timedelta) -> None:
        owner = asyncio.current_task()
        assert owner is not None  # noqa: S101 - a coroutine that runs has a task
        self._owner = owner
        self._before = owner.cancelling()
        self._ended = False
        self._task = asyncio.create_task(self._run(step, every))

    async def stop(self) -> None:
        """Return when no step runs any more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def interrupted(self, error: BaseException | None) -> bool:
        """Whether *error* is nothing but the interruption by this repeater."""
        if not self._ended or not isinstance(error, asyncio.CancelledError):
            return False
        # Ours unless somebody else asked as well: then theirs counts.
        return self._owner.uncancel() <= self._before

    async def _run(self, step: Callable[[], Awaitable[bool]], every: timedelta) -> None:
        while True:
            await asyncio.sleep(every.total_seconds())
            if not await step():
                self._ended = True
                self._owner.cancel()
                return


class Repeater:
    """Repeats a step in a thread until it says False; a thread can't be interrupted, so its owner has to ask."""

    def __init__(self, step: Callable[[], bool], every: timedelta) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(step, every), name="repeater", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Return when no step runs any more."""
        self._stopping.set()
        self._thread.join()

    def interrupted(self, error: BaseException | None) -> bool:  # noqa: ARG002 - the other one needs it
        """Never."""
        return False

    def _run(self, step: Callable[[], bool], every: timedelta) -> None:
        while not self._stopping.wait(every.total_seconds()):
            if not step():
                return
