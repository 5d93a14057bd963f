"""Asking for work: never for more than can be started soon, never while the store lags behind."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from mainspring.domain.ids import SessionId
from mainspring.errors import SessionLost, StoreError
from mainspring.logs import get_logger
from mainspring.ports.signals import coming_topic, lane_topic
from mainspring.ports.work import Claim
from mainspring.worker.backoff import Backoff
from mainspring.worker.executing import Executor
from mainspring.worker.registry import Registry
from mainspring.worker.settings import WorkerPorts, WorkerSettings

_SHORTEST_REST = timedelta(milliseconds=0.25)
"""What a worker that came a little too early waits at least."""
_MOST_BATCHES_UNSETTLED = 2
_REFILLED_AT = 3
"""More is asked for once one part in so many of the prefetch is used up: the others last until the answer is here."""

T = TypeVar("T")

log = get_logger("mainspring.worker")


class Claims:
    """One claim at a time, sized to what is free and to a few milliseconds of work beyond."""

    def __init__(
        self,
        settings: WorkerSettings,
        ports: WorkerPorts,
        registry: Registry,
        executor: Executor,
        *,
        session_lost: Callable[[SessionId], None],
    ) -> None:
        self._settings = settings
        self._ports = ports
        self._executor = executor
        self._session_lost = session_lost
        self._lanes = registry.lanes()
        self._topics = [lane_topic(lane) for lane in self._lanes]
        self._wakers = [*self._topics, *(coming_topic(lane) for lane in self._lanes)]
        self._backoff = Backoff(ports.clock, ports.random)
        self.outstanding = False
        """Whether an answer is awaited: until it comes, the store may know more than we do."""
        self.answered = asyncio.Event()
        """Set when an answer has come."""
        self.held_up = False
        """Set while the loop is too busy to take more."""
        self.paused = False
        """Set while this worker is emptied for suspects."""
        self.session: SessionId | None = None
        """Who asks; nobody does while it is None."""
        self.rate = 0.0
        """Runs that end per second while any executes."""

    async def run(self) -> None:
        """Claim for ever."""
        while True:
            rest = await self.step()
            if rest is not None:
                await self._ports.signals.wait(self._wakers, rest)

    async def step(self) -> timedelta | None:
        """Wait for room, claim once; return how long to rest unless woken, or None for not at all."""
        session, room = await self._until_room()
        claim = await self.answer(session, self._ports.work.claim(session, self._lanes, room), failed="claim.failed")
        if claim is None:
            return None
        self._executor.accept(claim.attempts)
        return self._rest_after(claim, room)

    async def answer(self, session: SessionId, asked: Awaitable[T], *, failed: str) -> T | None:
        """What the store says to whoever asks it for runs; None if that isn't known, or the session has ended."""
        self.outstanding = True
        self.answered.clear()
        try:
            answer = await asked
        except SessionLost:
            self._session_lost(session)
            return None
        except StoreError as error:
            # The outcome is unknown. Runs that it handed over all the same show up in the next heartbeats.
            log.warning(failed, error=str(error))
            await self._backoff.pause()
            return None
        finally:
            self.outstanding = False
            self.answered.set()
        self._backoff.reset()
        return answer

    @property
    def room(self) -> int:
        """How many runs to ask for: none for a few, while many are in hand."""
        slots = self._executor.slots
        wanted = self._wanted
        free = wanted - self._executor.in_hand
        return free if free >= max((wanted - slots) // _REFILLED_AT, 1) else 0

    @property
    def _wanted(self) -> int:
        """The most to have in hand: every slot, or as much as is done in a moment."""
        slots = self._executor.slots
        if not slots:
            return 0
        soon_done = int(self.rate * self._settings.prefetch.total_seconds())
        return max(slots, min(soon_done, slots + self._settings.prefetch_limit))

    async def _until_room(self) -> tuple[SessionId, int]:
        executor = self._executor
        while True:
            lagging = executor.settler.backlog >= _MOST_BATCHES_UNSETTLED * max(self._wanted, 1)
            room = self.room
            waits = lagging or self.held_up or self.paused or executor.draining or executor.shortage.pausing
            if self.session is not None and room and not waits:
                return self.session, room
            executor.changed.clear()
            await executor.changed.wait()

    def _rest_after(self, claim: Claim, asked: int) -> timedelta | None:
        if len(claim.attempts) >= asked:
            return None
        rest = self._settings.poll * (0.75 + self._ports.random.uniform() / 2)
        if claim.next_in is not None:
            rest = min(rest, claim.next_in)
        return max(rest, _SHORTEST_REST)
