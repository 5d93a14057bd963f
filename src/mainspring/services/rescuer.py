"""Takes runs out of dead hands, and does the small regular chores of a store."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from mainspring.domain.ids import SessionId
from mainspring.domain.outcome import Lost, Settled, judge
from mainspring.domain.run import Attempt, State
from mainspring.domain.suspects import EXPIRED, UNKNOWN
from mainspring.logs import get_logger
from mainspring.ports.audit import Audit
from mainspring.ports.incidents import Incidents, Untold
from mainspring.ports.sessions import Sessions
from mainspring.ports.signals import Signals, lane_topic
from mainspring.ports.time import Clock, Random
from mainspring.ports.upkeep import Upkeep
from mainspring.ports.work import Work
from mainspring.services.loop import repeat, until
from mainspring.services.ownership import RESCUE, Owns

POLL = timedelta(seconds=1)
BATCH = 500

_log = get_logger(__name__)
_UNTOLD = Untold()


@dataclass(slots=True, kw_only=True)
class _Chore:
    """A piece of work that says whether more of it waits."""

    work: Callable[[], Awaitable[bool]]
    interval: timedelta
    due_at: float = 0.0


class Rescuer:
    """Judges by the store's word alone: a session is dead when the store has buried it, never before."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        work: Work,
        upkeep: Upkeep,
        audit: Audit,
        signals: Signals,
        clock: Clock,
        random: Random,
        owns: Owns,
        incidents: Incidents = _UNTOLD,
    ) -> None:
        self._sessions = sessions
        self._work = work
        self._upkeep = upkeep
        self._audit = audit
        self._signals = signals
        self._clock = clock
        self._random = random
        self._owns = owns
        self._incidents = incidents
        self._chores = (
            _Chore(work=self._rescue_from_ended_sessions, interval=timedelta(seconds=1)),
            _Chore(work=self._rescue_overdue, interval=timedelta(seconds=10)),
            _Chore(work=self._repair, interval=timedelta(seconds=10)),
            _Chore(work=self._fold, interval=timedelta(seconds=1)),
            _Chore(work=self._chain, interval=timedelta(seconds=1)),
        )

    async def step(self) -> timedelta:
        """Do the chores whose time has come, and return the wait until the next one's."""
        if not self._owns(RESCUE):
            return POLL
        for chore in self._chores:
            if chore.due_at <= self._clock.monotonic():
                await self._do(chore)
        return until(min(chore.due_at for chore in self._chores), self._clock)

    async def run(self, stop: asyncio.Event) -> None:
        """Rescue until *stop* is set."""
        await repeat(self.step, stop, service="rescuer", clock=self._clock, random=self._random, wait=self._clock.sleep)

    async def _do(self, chore: _Chore) -> None:
        # Its turn is over before it begins: a chore that fails must not keep the others from theirs.
        chore.due_at = self._clock.monotonic() + chore.interval.total_seconds()
        if await chore.work():
            chore.due_at = self._clock.monotonic()

    async def _rescue_from_ended_sessions(self) -> bool:
        ended = await self._sessions.bury(BATCH)
        rescued = [await self._rescue_from(session, held) for session, held in ended.items()]
        return len(ended) == BATCH and any(rescued)

    async def _rescue_from(self, session: SessionId, held: int) -> int:
        """By how many runs it *held* when it ended, whoever has rescued some of them before."""
        loss = Lost() if held == 1 else Lost(shared=EXPIRED if held else UNKNOWN)
        rescued = 0
        while attempts := await self._sessions.held(session, BATCH):
            accepted = await self._give_up(attempts, loss)
            rescued += accepted
            if not accepted:
                break  # they were all settled or taken meanwhile; a store that lists too many clears that up itself
        if rescued:
            _log.info("session.buried", session=session, held=held, rescued=rescued)
        return rescued

    async def _rescue_overdue(self) -> bool:
        attempts = await self._sessions.overdue(BATCH)
        if not attempts:
            return False
        accepted = await self._give_up(attempts, Lost(reason="past its deadline"))
        _log.warning("runs.overdue", found=len(attempts), rescued=accepted)
        return accepted == BATCH

    async def _give_up(self, attempts: Sequence[Attempt], loss: Lost) -> int:
        """Settle *attempts* as lost and wake the lanes of those that wait again; return how many were still held."""
        now = self._clock.now()
        verdicts = [judge(attempt, loss, now=now, uniform=self._random.uniform()) for attempt in attempts]
        settled = await self._work.settle(verdicts)
        answered = zip(attempts, verdicts, settled, strict=True)
        lost = [(attempt, verdict) for attempt, verdict, answer in answered if answer is Settled.ACCEPTED]
        for attempt, verdict in lost:
            self._incidents.failed(attempt, verdict)
        if suspects := [attempt for attempt, verdict in lost if verdict.suspect and not attempt.suspect]:
            handlers = sorted({attempt.task.handler for attempt in suspects})
            _log.warning("runs.suspected", runs=len(suspects), first=str(suspects[0].run_id), handlers=handlers)
        # Workers look for suspects by themselves.
        waiting = [attempt for attempt, verdict in lost if verdict.state is State.WAITING and not verdict.suspect]
        lanes = [attempt.task.lane for attempt in waiting]
        if lanes:
            await self._signals.notify(tuple(dict.fromkeys(lane_topic(lane) for lane in lanes)))
        return len(lost)

    async def _repair(self) -> bool:
        repairs = await self._sessions.audit()
        if repairs:
            _log.warning("indexes.repaired", repairs=repairs)
        return False

    async def _fold(self) -> bool:
        return await self._upkeep.fold(BATCH) >= BATCH

    async def _chain(self) -> bool:
        return await self._audit.chain(BATCH) >= BATCH
