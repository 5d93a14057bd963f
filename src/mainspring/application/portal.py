"""A loop in a thread of its own, so that every caller, on whichever loop or thread, reaches the same connection."""

import asyncio
import atexit
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Held = TypeVar("Held")


class Portal(Generic[Held]):
    """Opens something on its loop when it is first needed, and holds it open until it is closed."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Held]]) -> None:
        self._opening = opening
        self._guard = threading.Lock()
        self._life: _Life[Held] | None = None

    async def call(self, function: Callable[[Held], Coroutine[Any, Any, T]]) -> T:
        """What *function* makes of what is held, for a caller on another loop."""
        return await asyncio.wrap_future(self._begin(function))

    def call_blocking(self, function: Callable[[Held], Coroutine[Any, Any, T]]) -> T:
        """The same for a caller without a loop."""
        return self._begin(function).result()

    def close(self) -> None:
        """Let go; the next call would open it again."""
        with self._guard:
            life, self._life = self._life, None
        if life is not None:
            life.end()

    def _begin(self, function: Callable[[Held], Coroutine[Any, Any, T]]) -> "concurrent.futures.Future[T]":
        with self._guard:
            # A forked child has the parent's memory, but not its threads.
            if self._life is None or self._life.process != os.getpid():
                self._life = _Life(self._opening)
            return self._life.begin(function)


class _Life(Generic[Held]):
    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Held]]) -> None:
        self.process = os.getpid()
        self._opening = opening
        self._loop = asyncio.new_event_loop()
        self._closing = AsyncExitStack()
        self._held: asyncio.Task[Held] | None = None
        self._thread = threading.Thread(target=self._run, name="mainspring-portal", daemon=True)
        self._thread.start()
        atexit.register(self._end_with_the_interpreter)

    def begin(self, function: Callable[[Held], Coroutine[Any, Any, T]]) -> "concurrent.futures.Future[T]":
        return asyncio.run_coroutine_threadsafe(self._through(function), self._loop)

    def end(self) -> None:
        atexit.unregister(self._end_with_the_interpreter)
        if self.process != os.getpid() or self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        """Close what is held, then end what still runs: a loop that is closed with tasks in it loses them."""
        await self._closing.aclose()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _end_with_the_interpreter(self) -> None:
        # Executors are shut down by now, so that not everything can be closed; what was answered is durable.
        with suppress(RuntimeError):
            self.end()

    async def _through(self, function: Callable[[Held], Coroutine[Any, Any, T]]) -> T:
        if self._held is None or (self._held.done() and self._held.exception() is not None):
            self._held = asyncio.create_task(self._closing.enter_async_context(self._opening()))
        return await function(await asyncio.shield(self._held))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
