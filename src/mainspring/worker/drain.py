"""Going away without leaving anything behind: every run is settled or somebody else's, and the session is closed."""

import asyncio
from datetime import timedelta

from mainspring.domain.ids import SessionId
from mainspring.domain.outcome import HandedBack
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor
from mainspring.worker.execution import Cause
from mainspring.worker.recovery import BATCH
from mainspring.worker.settings import WorkerPorts, WorkerSettings
from mainspring.worker.waiting import until_any

SETTLING = timedelta(seconds=10)
"""How long the store may take to answer at the end; what it doesn't hear stays in the journal."""
SETTLING_IN_A_HURRY = timedelta(seconds=3)
_STOPPING = timedelta(seconds=5)

log = get_logger("mainspring.worker")


class Drain:
    """The worker's last steps; *hurry* cuts every wait short."""

    def __init__(
        self, settings: WorkerSettings, ports: WorkerPorts, executor: Executor, claims: Claims, hurry: asyncio.Event
    ) -> None:
        self._settings = settings
        self._ports = ports
        self._clock = ports.clock
        self._executor = executor
        self._claims = claims
        self._hurry = hurry

    async def run(self, claiming: "asyncio.Task[None]") -> None:
        """Bring everything in hand to an end."""
        log.info("drain.began", executing=len(self._executor.executing), waiting=len(self._executor.waiting))
        self._executor.closing = True
        await self._stop_claiming(claiming)
        self._executor.hand_back_waiting("the worker was shut down before it began")
        await self._until_empty(self._settings.drain)
        self._stop_rest()
        await self._until_empty(min(self._settings.cancel_grace, _STOPPING))
        for execution in list(self._executor.executing.values()):
            self._executor.give_up(execution)
        await self._until_settled()

    async def hand_back_strays(self, session: SessionId) -> None:
        """Give back what the store believes that we hold: the answer to our last claim may have been lost."""
        try:
            on_their_way = {(each.run_id, each.fence) for each in self._executor.settler.unsettled}
            for attempt in await self._ports.sessions.held(session, BATCH):
                if (attempt.run_id, attempt.fence) in on_their_way:
                    continue
                self._executor.settler.report(attempt, HandedBack(reason="the worker never heard of it"))
        except StoreError as error:
            log.warning("drain.strays_unread", error=str(error))
        await self._until_settled()

    async def _stop_claiming(self, claiming: "asyncio.Task[None]") -> None:
        self._claims.session = None
        patience = self._deadline(SETTLING)
        while self._claims.outstanding and not self._hurry.is_set() and self._left(patience):
            await until_any(self._clock, self._left(patience), self._claims.answered, self._hurry)
        claiming.cancel()

    async def _until_empty(self, at_most: timedelta) -> None:
        executor, deadline = self._executor, self._deadline(at_most)
        while executor.executing and not self._hurry.is_set() and self._left(deadline):
            executor.changed.clear()
            await until_any(self._clock, self._left(deadline), executor.changed, self._hurry)

    def _stop_rest(self) -> None:
        for execution in list(self._executor.executing.values()):
            self._executor.stop(execution, Cause.DRAIN)
            if not execution.stoppable and not execution.closed:
                self._executor.give_up(execution)

    async def _until_settled(self) -> None:
        settler, changed = self._executor.settler, self._executor.changed
        deadline, events = self._deadline(SETTLING), [changed, self._hurry]
        while settler.backlog and self._left(deadline):
            if self._hurry.is_set() and len(events) > 1:
                deadline, events = min(deadline, self._deadline(SETTLING_IN_A_HURRY)), [changed]
            changed.clear()
            await until_any(self._clock, self._left(deadline), *events)

    def _deadline(self, duration: timedelta) -> float:
        return self._clock.monotonic() + duration.total_seconds()

    def _left(self, deadline: float) -> timedelta:
        return timedelta(seconds=max(deadline - self._clock.monotonic(), 0.0))
