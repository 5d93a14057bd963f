"""Running suspects alone: one worker in four of each lane is emptied, runs them one after the other, and goes on.

Locks in the store keep the number: a worker takes one for each of its lanes or none. So nobody has to be chosen, the
turn goes round, and a worker that dies loses its locks. Each is named after its lane, with a number below a quarter of
the lane's workers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from mainspring.domain.ids import Lane
from mainspring.domain.suspects import WORKERS_PER_EMPTIED, waiting_lane
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.locks import HeldBy, Lock, owned
from mainspring.ports.sessions import Role
from mainspring.worker.claims import Claims
from mainspring.worker.executing import Executor
from mainspring.worker.settings import WorkerPorts, WorkerSettings
from mainspring.worker.waiting import until_any

TURN = timedelta(seconds=10)
"""After so long no further suspect begins until this worker has done other work."""
MOST_REST = timedelta(minutes=1)
"""Other work gets as long as the suspects had, but at most so long."""
FIRST_PATIENCE = timedelta(minutes=1)
MOST_PATIENCE = timedelta(days=1)
"""A worker waits so long until it is empty: at first, and at most, after twice as long each time in vain. So another
has its turn that executes nothing long; and where all execute something long, a worker waits for it at last."""
_NOBODY = ""
"""Owns the locks: no client can take one of them."""
_TICK = timedelta(seconds=1)
_RENEWALS_PER_TTL = 3
_LOCKS_TRIED = 4
"""Of each lane: where hundreds may be emptied, whoever finds these taken comes back later."""

log = get_logger("mainspring.worker")


class Isolation:
    """Empties this worker for suspects, bounded in time, in turn with all other work."""

    def __init__(
        self, settings: WorkerSettings, ports: WorkerPorts, lanes: Sequence[Lane], executor: Executor, claims: Claims
    ) -> None:
        self._settings = settings
        self._ports = ports
        self._clock = ports.clock
        self._lanes = lanes
        self._waiting_lanes = [waiting_lane(lane, suspect=True) for lane in lanes]
        self._executor = executor
        self._claims = claims
        self._held: list[Lock] = []
        self._held_until = 0.0
        self._rests_until = 0.0
        self._patience = FIRST_PATIENCE
        self.due = asyncio.Event()
        """Set when it is time to look for suspects: whenever a heartbeat was answered."""

    async def run(self) -> None:
        """Look for suspects for ever."""
        while True:
            await self.due.wait()
            self.due.clear()
            if self._clock.monotonic() < self._rests_until:
                continue
            try:
                lasted = await self.step()
            except StoreError as error:
                log.warning("suspects.unread", error=str(error))
            else:
                self._rests_until = self._clock.monotonic() + min(lasted, MOST_REST).total_seconds()

    async def step(self) -> timedelta:
        """Run suspects, if any wait and this worker may be emptied for them; return for how long it was."""
        began = self._clock.monotonic()
        if not self._free or not await self._wait() or not await self._acquire():
            return timedelta(0)
        log.info("isolation.began", in_hand=self._executor.in_hand)
        keeper = asyncio.get_running_loop().create_task(self._keep())
        self._claims.paused = True
        try:
            turn_ends = None
            while await self._emptied() and (turn_ends is None or self._clock.monotonic() < turn_ends):
                turn_ends = turn_ends or self._clock.monotonic() + TURN.total_seconds()
                if not await self._run_one():
                    break
        finally:
            self._executor.for_suspects = self._claims.paused = False
            self._executor.changed.set()
            keeper.cancel()
        await self._release()
        lasted = timedelta(seconds=self._clock.monotonic() - began)
        log.info("isolation.ended", seconds=round(lasted.total_seconds(), 3))
        return lasted

    @property
    def _free(self) -> bool:
        """Whether this worker takes anything at all."""
        executor = self._executor
        return self._claims.session is not None and not executor.draining and not executor.shortage.pausing

    async def _wait(self) -> bool:
        waits = await self._ports.work.next_wake(self._waiting_lanes)
        return any(wait <= timedelta(0) for wait in waits.values())

    async def _acquire(self) -> bool:
        """Take a lock of each lane, or none: lanes in one order, so that nobody waits for another."""
        self._held_until = self._clock.monotonic() + self._settings.ttl.total_seconds()
        for lane, places in (await self._places()).items():
            if not await self._take_place(lane, places):
                await self._release()
                return False
        return True

    async def _places(self) -> Mapping[Lane, int]:
        """How many workers of each lane may be emptied at a time."""
        workers = [each for each in await self._ports.sessions.live(Role.WORKER) if not each.draining]
        serving = {lane: len({each.name for each in workers if lane in each.lanes}) for lane in self._lanes}
        return {lane: max(serving[lane] // WORKERS_PER_EMPTIED, 1) for lane in sorted(serving)}

    async def _take_place(self, lane: Lane, places: int) -> bool:
        first = int(self._ports.random.uniform() * places)
        for place in range(first, first + min(places, _LOCKS_TRIED)):
            name = owned(_NOBODY, f"suspects/{lane}/{place % places}")
            answer = await self._ports.locks.acquire(name, self._settings.name, self._settings.ttl)
            if not isinstance(answer, HeldBy):
                self._held.append(answer)
                return True
        return False

    async def _keep(self) -> None:
        """Renew the locks as long as they are held; without them no other suspect begins."""
        while True:
            await self._clock.sleep(self._settings.ttl / _RENEWALS_PER_TTL)
            asked_at = self._clock.monotonic()
            with suppress(StoreError):
                renewed = [await self._ports.locks.renew(lock, self._settings.ttl) for lock in self._held]
                if None in renewed:
                    self._held_until = asked_at
                    return
                self._held_until = asked_at + self._settings.ttl.total_seconds()

    async def _release(self) -> None:
        held, self._held = self._held, []
        for lock in held:
            with suppress(StoreError):
                await self._ports.locks.release(lock)

    async def _emptied(self) -> bool:
        """Wait until nothing is in hand, in a slot or unsettled; False if this worker can't be emptied any more.

        What executes ends by its timeout. A handler that nothing can end keeps its slot, and no suspect runs beside it.
        """
        give_up_at = self._clock.monotonic() + self._patience.total_seconds()
        while self._free and self._clock.monotonic() < min(self._held_until, give_up_at):
            if not self._busy:
                if not self._executor.leaving:
                    self._patience = FIRST_PATIENCE
                    return True
                give_up_at = min(give_up_at, self._clock.monotonic() + TURN.total_seconds())
            await self._change()
        self._patience = min(2 * self._patience, MOST_PATIENCE)
        return False

    async def _run_one(self) -> bool:
        """Claim a suspect and see it settled, whatever becomes of the locks; False if none is known to be claimed."""
        session = self._claims.session
        assert session is not None  # noqa: S101 - it was there when the worker was found empty, in this very step
        claiming = self._ports.work.claim(session, self._waiting_lanes, 1)
        claim = await self._claims.answer(session, claiming, failed="claim.failed")
        if claim is None or not claim.attempts:
            return False
        self._executor.for_suspects = True
        self._executor.accept(claim.attempts)
        while self._busy:
            await self._change()
        self._executor.for_suspects = False
        return True

    @property
    def _busy(self) -> bool:
        executor = self._executor
        return bool(executor.in_hand or executor.settler.backlog or self._claims.outstanding)

    async def _change(self) -> None:
        """Wait for one; a claim without an answer rings no bell."""
        self._executor.changed.clear()
        await until_any(self._clock, _TICK, self._executor.changed)
