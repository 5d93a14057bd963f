"""A whole Mainspring in memory whose time only passes when the test says so.

The store, the planner, the API and the rules of retries are the real ones. In place of a worker, whatever has come due
is executed one after the other, each to its end, in the order in which a worker would claim it: the same test does
the same every time. Functions run in the test's own loop and take no virtual time.
"""

import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from mainspring.adapters.memory.signals import Hub
from mainspring.adapters.sqlite.connection import MEMORY
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.measurements import Measurements
from mainspring.application import App
from mainspring.application.doors import ClientDoor
from mainspring.application.portal import Portal
from mainspring.client import Client
from mainspring.domain.ids import SessionId
from mainspring.domain.outcome import HandedBack, Outcome, Succeeded, judge
from mainspring.domain.run import Attempt, State
from mainspring.ports.sessions import NewSession, Role
from mainspring.ports.tracing import UNTRACED
from mainspring.services.planner import Planner
from mainspring.services.space import Space
from mainspring.testing.clock import START, ManualClock
from mainspring.wiring.apps import Handlers, merge
from mainspring.wiring.declared import declare
from mainspring.wiring.local import local_client
from mainspring.wiring.resources import Resources
from mainspring.wiring.settings import Settings
from mainspring.wiring.switchboard import Switchboard, within_process
from mainspring.wiring.waking import Waker
from mainspring.worker.context import Context, Toolbox
from mainspring.worker.executing import UNKNOWN_HANDLER_DELAY
from mainspring.worker.outcomes import failure_of, result_text
from mainspring.worker.registry import DEFAULT, Handler, Registry

FOR_EVER = timedelta(days=36_500)
_AT_ONCE = timedelta(0)
_WORDS = {State.SUCCEEDED: "completed", State.DEAD: "failed", State.CANCELLED: "cancelled", State.WAITING: "retried"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One attempt that time has brought about."""

    at: datetime
    task: str
    attempt: int
    outcome: str
    """`completed`, `failed` for good, `cancelled`, or `retried`: it will be tried again."""
    error: str | None = None


class VirtualTime:
    """The time of one virtual Mainspring."""

    def __init__(self, store: SqliteStore, clock: ManualClock, registry: Registry, session: SessionId) -> None:
        self._store = store
        self._clock = clock
        self._registry = registry
        self._session = session
        self._random = SeededRandom()
        self._planner = Planner(store.timetable, Hub().subscribe(), clock, self._random, owns=lambda _: True)
        self._tools = Toolbox(locks=store.locks, clock=clock)

    @property
    def now(self) -> datetime:
        """The present."""
        return self._clock.now()

    async def advance(self, by: timedelta = _AT_ONCE, **units: float) -> Sequence[Ran]:
        """Let time pass, `advance(hours=1)`; everything that comes due in it happens at its moment, and is returned.

        Without an amount, what is due now happens.
        """
        return await self.advance_to(self.now + by + timedelta(**units))

    async def advance_to(self, moment: datetime) -> Sequence[Ran]:
        """Let time pass until *moment*."""
        if moment < self.now:
            raise ValueError(f"time doesn't go back: it is {self.now.isoformat()} already")
        ran = await self._happen()
        while (pause := await self._until_next()) is not None and self.now + pause <= moment:
            self._clock.advance(pause)
            ran += await self._happen()
        self._clock.advance(moment - self.now)
        return ran

    async def _until_next(self) -> timedelta | None:
        waits = list((await self._store.work.next_wake(self._registry.lanes())).values())
        planned = (await self._store.timetable.due(1)).next_in
        return min([*waits, *([] if planned is None else [planned])], default=None)

    async def _happen(self) -> list[Ran]:
        """Fire and execute until nothing is due."""
        ran: list[Ran] = []
        while True:
            await self._planner.step()
            claim = await self._store.work.claim(self._session, self._registry.lanes(), 1)
            if claim.attempts:
                ran += [done for each in claim.attempts if (done := await self._execute(each)) is not None]
            elif not (await self._store.timetable.due(1)).jobs:
                return ran

    async def _execute(self, attempt: Attempt) -> Ran | None:
        handler = self._registry.find(attempt.task.handler)
        if handler is None:
            await self._settle(attempt, HandedBack(delay=UNKNOWN_HANDLER_DELAY, reason="no such task"))
            return None
        blob = attempt.task.blob
        payload = None if blob is None else await self._store.blobs.get(blob)
        context = Context(attempt, payload=payload, started_at=self.now, tools=self._tools)
        outcome = await self._outcome(handler, context)
        printed = context.take_printed()
        if printed is not None:
            await self._store.output.write([printed])
        state = await self._settle(attempt, outcome)
        error = getattr(outcome, "error", None)
        return Ran(at=self.now, task=handler.name, attempt=attempt.attempt, outcome=_WORDS[state], error=error)

    async def _outcome(self, handler: Handler, context: Context) -> Outcome:
        try:
            value = handler.function(*(context.payload, context)[: handler.arguments])
            return Succeeded(result=result_text(await value if inspect.isawaitable(value) else value))
        except Exception as error:  # noqa: BLE001 - a failure of its run, as in a worker
            return failure_of(error)

    async def _settle(self, attempt: Attempt, outcome: Outcome) -> State:
        verdict = judge(attempt, outcome, now=self.now, uniform=self._random.uniform())
        await self._store.work.settle([verdict])
        return verdict.state


class SeededRandom:
    """Chance that is the same in every repetition."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def bits(self, count: int) -> int:
        """From the seed."""
        return self._random.getrandbits(count)

    def uniform(self) -> float:
        """From the seed."""
        return self._random.random()


@asynccontextmanager
async def virtual(app: App, *, start: datetime = START) -> AsyncIterator[VirtualTime]:
    """Within the block, *app* has a Mainspring of its own in memory, where it is *start*.

    Declared schedules are registered; tasks are submitted as ever and run when `advance` reaches their moment.
    """
    clock = ManualClock(start)
    store = await SqliteStore.open(MEMORY, clock=clock, inline=True)
    registry = Registry()
    merge(registry, [each.registry for each in (Handlers(DEFAULT), app)])
    portal = Portal(lambda: _client(store, clock))
    before, app.door = app.door, _VirtualDoor(portal)
    try:
        await portal.call(lambda client: declare(client, app.declared()))
        new = NewSession(role=Role.WORKER, name="virtual", ttl=FOR_EVER, handlers=registry.names())
        yield VirtualTime(store, clock, registry, await store.sessions.open(new))
    finally:
        app.door = before
        portal.close()
        await store.close()


class _VirtualDoor(ClientDoor):
    """Nobody waits for a result: either the test has let enough time pass, or it hasn't."""

    async def result(self, job_id: UUID, at_most: timedelta | None) -> Any:  # noqa: ARG002
        return await super().result(job_id, _AT_ONCE)

    def result_blocking(self, job_id: UUID, at_most: timedelta | None) -> Any:  # noqa: ARG002
        return super().result_blocking(job_id, _AT_ONCE)


@asynccontextmanager
async def _client(store: SqliteStore, clock: ManualClock) -> AsyncIterator[Client]:
    async with AsyncExitStack() as closing:
        switchboard = Switchboard(within_process(), closing)
        waker = Waker(await switchboard.sender())
        closing.push_async_callback(waker.close)
        resources = Resources(
            Settings(data=Path()),
            store,
            clock=clock,
            random=SeededRandom(),
            switchboard=switchboard,
            waker=waker,
            measurements=Measurements(),
            space=Space(),
            tracing=UNTRACED,
            closing=closing,
        )
        yield await closing.enter_async_context(local_client(resources))
