"""The worker's sign of life, from a loop of its own: a handler that blocks the main loop must not cost the session.

Nothing here touches the worker's state. What the store says is passed to the main loop, and whether the main loop
lives is seen by whether it answers.
"""

import asyncio
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from mainspring.domain.ids import SessionId
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.sessions import Heard, News, Sessions
from mainspring.ports.tasks import Aside
from mainspring.worker.settings import WorkerPorts, WorkerSettings

BEATS_PER_TTL = 3
TICK = timedelta(milliseconds=500)
_MOMENT = timedelta(milliseconds=1)
BUSY_AFTER = 2.0
"""Seconds without an answer from the main loop after which it gets no more work."""
BLOCKED_AFTER = 10.0
"""Seconds without an answer after which the log shows where the main loop hangs."""

log = get_logger("mainspring.worker")

Told = Callable[[SessionId, Heard | None, float], None]
"""Takes the session, the store's answer and when it was asked, by the monotonic clock."""


class Heartbeat:
    """Beats for the session that it is given; tells what it hears and whether the main loop is busy."""

    def __init__(
        self,
        settings: WorkerSettings,
        ports: WorkerPorts,
        *,
        news: Callable[[], News],
        told: Told,
        busy: Callable[[bool], None],
    ) -> None:
        self._ports = ports
        self._clock = ports.clock
        self._news = news
        self._told = told
        self._busy = busy
        self._interval = settings.ttl / BEATS_PER_TTL
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._aside: Aside | None = None
        self._due_at = 0.0
        self._hasty = False
        self._asked_at: float | None = None
        self._answered = True
        self._is_busy = False
        self._has_shown = False
        self.session: SessionId | None = None
        """Whose life it is; None while there is none."""

    def start(self) -> None:
        """Begin to beat."""
        self._due_at = self._clock.monotonic() + self._interval.total_seconds()
        self._aside = self._ports.tasks.aside(self._main)

    def hasten(self) -> None:
        """Beat with the next tick: there is something to tell, or to hear."""
        self._hasty = True

    async def stop(self) -> None:
        """End it and wait until it has ended."""
        if self._aside is not None:
            await self._aside.stop()

    async def _main(self) -> None:
        while True:
            try:
                async with self._opened() as sessions:
                    await self._keep_beating(sessions)
            except Exception as error:  # noqa: BLE001 - without a heartbeat the session dies: try again, whatever it was
                log.warning("heartbeat.unconnected", error=repr(error))
            await self._clock.sleep(TICK)

    async def _keep_beating(self, sessions: Sessions) -> None:
        while True:
            left = timedelta(seconds=self._due_at - self._clock.monotonic())
            await self._clock.sleep(max(min(TICK, left), _MOMENT))
            self._watch()
            if self._hasty or self._clock.monotonic() >= self._due_at:
                self._hasty = False
                await self._beat(sessions)

    async def _beat(self, sessions: Sessions) -> None:
        session, asked_at = self.session, self._clock.monotonic()
        self._due_at = asked_at + min(TICK, self._interval).total_seconds()
        if session is None:
            return
        try:
            heard = await sessions.beat(session, replace(self._news(), clock=self._clock.now()))
        except StoreError as error:
            # Unknown: tried again with the next tick, because the time is running.
            log.warning("heartbeat.failed", error=str(error))
        except Exception:
            log.exception("heartbeat.failed")
        else:
            self._due_at = asked_at + self._interval.total_seconds()
            self._loop.call_soon_threadsafe(self._told, session, heard, asked_at)

    def _watch(self) -> None:
        """Ask the main loop for a sign, and judge by how long the last one took."""
        now = self._clock.monotonic()
        waited = now - self._asked_at if self._asked_at is not None else 0.0
        if not self._answered:
            if waited >= BUSY_AFTER and not self._is_busy:
                self._say_busy(True)
            if waited >= BLOCKED_AFTER and not self._has_shown:
                self._has_shown = True
                log.error("loop.blocked", seconds=round(waited, 1), stack=self._stack())
            return
        if self._is_busy and waited < BUSY_AFTER:
            self._say_busy(False)
        self._answered, self._has_shown, self._asked_at = False, False, now
        self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        self._answered = True

    def _say_busy(self, is_busy: bool) -> None:
        self._is_busy = is_busy
        log.warning("loop.busy" if is_busy else "loop.free")
        # Said directly as well, because a blocked loop would hear it too late.
        self._busy(is_busy)

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._thread)  # noqa: SLF001 - the documented way, whatever its name
        return "".join(traceback.format_stack(frame)) if frame is not None else "unknown"

    def _opened(self) -> AbstractAsyncContextManager[Sessions]:
        return self._shared() if self._ports.heartbeat is None else self._ports.heartbeat()

    @asynccontextmanager
    async def _shared(self) -> AsyncIterator[Sessions]:
        yield self._ports.sessions
