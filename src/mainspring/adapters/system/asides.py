"""A coroutine on a thread and a loop of its own, for what must go on while the main loop is blocked."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress


class ThreadAside:
    """Runs from the moment it is made until its coroutine returns or it is stopped."""

    def __init__(self, main: Callable[[], Awaitable[None]]) -> None:
        self._main = main
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        # A daemon: a heartbeat that hangs in the network must not keep a finished process alive.
        threading.Thread(target=self._run, name="aside", daemon=True).start()

    async def stop(self) -> None:
        """Cancel the coroutine, wait until it has ended and raise what it raised."""
        with suppress(RuntimeError):  # its loop is closed: it has ended by itself
            self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.shield(asyncio.wrap_future(self._ended))

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._until_stopped())
        except BaseException as error:  # noqa: BLE001 - raised again where somebody can see it
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _until_stopped(self) -> None:
        work = asyncio.ensure_future(self._main())
        stopping = asyncio.ensure_future(self._stopping.wait())
        stopping.add_done_callback(lambda _: work.cancel())
        try:
            with suppress(asyncio.CancelledError):
                await work
        finally:
            stopping.cancel()
