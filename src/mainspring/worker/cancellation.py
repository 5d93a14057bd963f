"""The request to stop, as a handler sees it: from the loop and from a thread alike."""

import asyncio
import threading
from datetime import timedelta

_guard = threading.Lock()
"""One for all: it is held for moments only, and one per run would cost every run for the sake of the few that wait."""


class Cancellation:
    """Set once, never cleared. Nothing is allocated until somebody waits."""

    __slots__ = ("_in_loop", "_in_threads", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        self._in_loop: asyncio.Event | None = None
        self._in_threads: threading.Event | None = None

    def is_set(self) -> bool:
        """Whether the handler should stop; safe from any thread."""
        return self._is_set

    async def wait(self) -> None:
        """Return once the handler should stop."""
        if self._is_set:
            return
        if self._in_loop is None:
            self._in_loop = asyncio.Event()
        await self._in_loop.wait()

    def wait_blocking(self, timeout: timedelta | None = None) -> bool:
        """Wait in a thread, *timeout* at most; whether the handler should stop."""
        with _guard:
            if self._is_set:
                return True
            if self._in_threads is None:
                self._in_threads = threading.Event()
            event = self._in_threads
        return event.wait(None if timeout is None else timeout.total_seconds())

    def set(self) -> None:
        """Ask the handler to stop; called in the loop that runs it."""
        with _guard:
            self._is_set = True
            event = self._in_threads
        if event is not None:
            event.set()
        if self._in_loop is not None:
            self._in_loop.set()
