"""What `context.lock` returns: a block under a lock, for coroutines and for threads.

A thread has no loop to renew the lock in, so the worker's loop holds it meanwhile, on the thread's behalf.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from mainspring.errors import ConfigurationError
from mainspring.ports.locks import Lock
from mainspring.worker.cancellation import Cancellation
from mainspring.worker.leases import LockBusy

Lease = AbstractAsyncContextManager[Lock]


class Guarded:
    """Entered once, by `async with` in a coroutine or by `with` in a thread."""

    def __init__(
        self,
        lease: Callable[[], Lease],
        *,
        loop: asyncio.AbstractEventLoop | None,
        cancelled: Callable[[], Cancellation],
    ) -> None:
        self._lease = lease
        self._loop = loop
        self._cancelled = cancelled
        self._entered: Lease | None = None
        self._proxy: _Proxy | None = None

    async def __aenter__(self) -> Lock:
        """Wait for the lock; LockBusy if it stays held."""
        self._entered = self._lease()
        return await self._entered.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Give the lock back; LockLost instead of the cancellation by which a lost lock has ended the block."""
        assert self._entered is not None  # noqa: S101 - a block is left only after it was entered
        return await self._entered.__aexit__(kind, error, traceback)

    def __enter__(self) -> Lock:
        """Block the thread until the lock is held; LockBusy if it stays held, or the run is to stop meanwhile."""
        if _in_a_coroutine():
            raise ConfigurationError("nothing may block in a loop: write `async with context.lock(…)` there")
        if self._loop is None:
            raise ConfigurationError("there is no loop here that could hold a lock for a thread")
        self._proxy = _Proxy(self._lease, self._loop, self._cancelled())
        return self._proxy.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the lock back; LockLost if it was lost, unless the block has failed by itself."""
        assert self._proxy is not None  # noqa: S101 - as above
        lost = self._proxy.leave()
        if lost is not None and error is None:
            raise lost


class _Proxy:
    """Holds a lock in the loop from `enter` to `leave`, both of which a thread calls."""

    def __init__(self, lease: Callable[[], Lease], loop: asyncio.AbstractEventLoop, cancelled: Cancellation) -> None:
        self._lease = lease
        self._loop = loop
        self._cancelled = cancelled
        self._leaving = asyncio.Event()
        self._entered: concurrent.futures.Future[Lock] = concurrent.futures.Future()
        self._holding: concurrent.futures.Future[None] | None = None

    def enter(self) -> Lock:
        self._holding = asyncio.run_coroutine_threadsafe(self._hold(), self._loop)
        return self._entered.result()

    def leave(self) -> BaseException | None:
        """Why the lock was lost, if it was."""
        assert self._holding is not None  # noqa: S101 - left only after it was entered
        self._loop.call_soon_threadsafe(self._leaving.set)
        return self._holding.exception()

    async def _hold(self) -> None:
        stopping = asyncio.ensure_future(self._stop_waiting(asyncio.current_task()))
        try:
            async with self._lease() as lock:
                self._entered.set_result(lock)
                await self._leaving.wait()
        except BaseException as error:
            if self._entered.done():
                # Nothing can interrupt a thread: it is asked to stop, as for every other reason.
                self._cancelled.set()
                raise
            self._entered.set_exception(
                LockBusy("the run was stopped while it waited for a lock") if stopping.done() else error
            )
        finally:
            stopping.cancel()

    async def _stop_waiting(self, holding: "asyncio.Task[None] | None") -> None:
        await self._cancelled.wait()
        if holding is not None and not self._entered.done():
            holding.cancel()


def _in_a_coroutine() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
