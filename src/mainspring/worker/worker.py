"""A worker: recovers, opens a session, claims and executes until it is told to stop, and leaves nothing behind."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol

from mainspring.domain.ids import SessionId
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.journal import Opened
from mainspring.ports.sessions import Heard, News, NewSession, Role
from mainspring.ports.signals import session_topic
from mainspring.worker.backoff import Backoff
from mainspring.worker.claims import Claims
from mainspring.worker.delivery import Refused
from mainspring.worker.drain import Drain
from mainspring.worker.executing import Executor
from mainspring.worker.heartbeat import BEATS_PER_TTL, Heartbeat
from mainspring.worker.holdings import Holdings
from mainspring.worker.isolation import Isolation
from mainspring.worker.neighbours import Neighbours
from mainspring.worker.notebook import Notebook
from mainspring.worker.printing import Printer
from mainspring.worker.reaper import Reaper
from mainspring.worker.receiving import Receiving
from mainspring.worker.recovery import Recovery, insist
from mainspring.worker.registry import DEFAULT, Registry
from mainspring.worker.settings import Ended, WorkerPorts, WorkerSettings
from mainspring.worker.shortage import Shortage
from mainspring.worker.standby import Standby
from mainspring.worker.waiting import unless

log = get_logger("mainspring.worker")


class Worker:
    """One process's worth of executing runs."""

    def __init__(self, ports: WorkerPorts, settings: WorkerSettings, registry: Registry = DEFAULT) -> None:
        self._ports = ports
        self._settings = settings
        self._registry = registry
        self._notebook = Notebook(ports.journal)
        self._refused: Sequence[Refused] = ()
        self._shift: _Shift | None = None
        self.opened = asyncio.Event()
        """Set once the first session is open: from then on the store knows the handlers."""

    @property
    def executing(self) -> int:
        """How many runs execute at this moment."""
        return 0 if self._shift is None else self._shift.executing

    async def run(self, stop: asyncio.Event, hurry: asyncio.Event) -> Ended:
        """Work until *stop* is set or too many slots are lost, then drain; *hurry* ends the draining at once."""
        session = await unless(stop, self._begin())
        if session is None:
            return Ended.ASKED
        shift = self._shift = _Shift(self._ports, self._settings, self._registry, self._notebook, self._open)
        shift.inherit(self._refused)
        return await shift.run(session, stop, hurry)

    async def _begin(self) -> SessionId:
        self._refused = await Recovery(self._ports).run()
        # Whoever starts in place of a dead worker, under another name, would be the first to repeat its work.
        await Neighbours(self._ports).step()
        return await self._open(draining=False)

    async def _open(self, *, draining: bool) -> SessionId:
        settings = self._settings
        new = NewSession(
            role=Role.WORKER,
            name=settings.name,
            ttl=settings.ttl,
            host=settings.host,
            pid=settings.pid,
            capacity=settings.concurrency,
            handlers=self._registry.names(),
            draining=draining,
        )
        backoff = Backoff(self._ports.clock, self._ports.random)
        session = await insist(lambda: self._ports.sessions.open(new), backoff)
        self._notebook.append([Opened(session)])
        self.opened.set()
        log.info("session.opened", session=session, worker=settings.name)
        return session


class _Open(Protocol):
    async def __call__(self, *, draining: bool) -> SessionId: ...


class _Shift:
    """Everything that lives between the first session and the end of the drain."""

    def __init__(
        self,
        ports: WorkerPorts,
        settings: WorkerSettings,
        registry: Registry,
        notebook: Notebook,
        open_session: _Open,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._notebook = notebook
        self._open_session = open_session
        self._loop = asyncio.get_running_loop()
        self._printer = Printer(ports.output, ports.clock, self._loop)
        self._shortage = Shortage(ports.clock, ports.observer, self._tell_shortage)
        self._executor = Executor(settings, ports, registry, notebook, self._printer, shortage=self._shortage)
        claims = Claims if ports.carrier is None else Receiving
        self._claims = claims(settings, ports, registry, self._executor, session_lost=self._lost)
        self._reaper = Reaper(settings, ports.clock, self._executor, self._claims)
        self._holdings = Holdings(ports.sessions, self._executor, self._claims)
        self._heartbeat = Heartbeat(settings, ports, news=self._news, told=self._hear, busy=self._hold_up)
        self._standby = Standby(self._executor, self._claims, self._heartbeat.hasten)
        self._neighbours = Neighbours(ports)
        self._isolation = Isolation(settings, ports, registry.lanes(), self._executor, self._claims)
        self._session: SessionId | None = None
        self._services: list[asyncio.Task[None]] = []
        self._ending = asyncio.Event()
        self._defect: BaseException | None = None

    @property
    def executing(self) -> int:
        """How many runs execute at this moment."""
        return len(self._executor.executing)

    def inherit(self, refused: Sequence[Refused]) -> None:
        """Take over what the store didn't take from the predecessor."""
        if refused:
            self._executor.settler.refusals.keep(refused)

    async def run(self, session: SessionId, stop: asyncio.Event, hurry: asyncio.Event) -> Ended:
        """Work, drain, close."""
        self._serve(session)
        claiming = self._start(self._claims.run())
        settler = self._executor.settler
        services = (
            settler.run(),
            settler.refusals.run(),
            self._printer.run(),
            self._reaper.run(),
            self._shortage.run(),
            self._isolation.run(),
        )
        for service in (*services, self._listen()):
            self._start(service)
        self._start(self._end_with(stop))
        self._start(self._end_with(self._reaper.slots_lost))
        self._heartbeat.start()
        try:
            await self._ending.wait()
            await self._leave(Drain(self._settings, self._ports, self._executor, self._claims, hurry), claiming)
        finally:
            await self._abort()
        if self._defect is not None:
            raise self._defect
        return Ended.SLOTS_LOST if self._reaper.slots_lost.is_set() and not stop.is_set() else Ended.ASKED

    def _serve(self, session: SessionId) -> None:
        self._session = self._executor.session = self._claims.session = self._heartbeat.session = session
        self._executor.changed.set()

    def _start(self, service: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = self._loop.create_task(service)
        task.add_done_callback(self._note_end)
        self._services.append(task)
        return task

    async def _listen(self) -> None:
        """Ask the store at once when it was told something for us; without a signal the next heartbeat does.

        As often as a heartbeat, and so well before any session expires, look after neighbours that have died, too.
        """
        while True:
            topics = [] if self._session is None else [session_topic(self._session)]
            if await self._ports.signals.wait(topics, self._settings.ttl / BEATS_PER_TTL):
                self._heartbeat.hasten()
            await self._neighbours.step()

    async def _end_with(self, event: asyncio.Event) -> None:
        await event.wait()
        self._ending.set()

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        """A service that fails has a defect: the worker then ends in order rather than limp on."""
        self._services.remove(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("worker.defect", error=repr(error), exc_info=error)
            self._defect = error
            self._ending.set()

    def _hold_up(self, busy: bool) -> None:
        self._claims.held_up = busy
        self._loop.call_soon_threadsafe(self._executor.changed.set)

    def _news(self) -> News:
        trouble = self._shortage.reason or self._notebook.trouble
        return News(executing=len(self._executor.executing), drained=self._standby.drained, trouble=trouble)

    def _tell_shortage(self) -> None:
        self._executor.changed.set()
        self._heartbeat.hasten()

    def _hear(self, session: SessionId, heard: Heard | None, asked_at: float) -> None:
        if session != self._session:
            return
        if heard is None:
            self._lost(session)
            return
        if self._standby.hear(heard):
            self._start(self._standby.watch())
        if strays := self._holdings.hear(heard, asked_at):
            self._start(self._holdings.take_up(session, strays))
        self._isolation.due.set()

    def _lost(self, session: SessionId) -> None:
        """Others have buried the session: what it held may be theirs, so let go of it and begin a new one."""
        if session != self._session:
            return
        log.warning("session.lost", session=session, executing=len(self._executor.executing))
        self._session = self._claims.session = self._heartbeat.session = None
        self._executor.waiting.clear()
        for execution in list(self._executor.executing.values()):
            self._executor.take_away(execution)
        if not self._ending.is_set():
            self._start(self._reopen())

    async def _reopen(self) -> None:
        session = await self._open_session(draining=self._executor.draining)
        self._notebook.rewrite(session, (), self._executor.settler.unsettled)
        self._serve(session)

    async def _leave(self, drain: Drain, claiming: "asyncio.Task[None]") -> None:
        await drain.run(claiming)
        session = self._session
        if session is not None:
            await drain.hand_back_strays(session)
        await self._heartbeat.stop()
        if session is None or await self._close(session):
            self._notebook.finish(self._executor.settler.unsettled)
        log.info("drain.ended", unsettled=len(self._executor.settler.unsettled))

    async def _close(self, session: SessionId) -> bool:
        try:
            await self._ports.sessions.close(session)
        except StoreError as error:
            log.warning("session.unclosed", session=session, error=str(error))
            return False
        return True

    async def _abort(self) -> None:
        """End whatever still runs without a word to the store; after a drain only stuck handlers are left."""
        for execution in list(self._executor.executing.values()):
            self._executor.take_away(execution)
        for execution in list(self._executor.leaving.values()):
            if execution.task is not None:
                execution.task.cancel()
        services = list(self._services)
        for task in services:
            task.cancel()
        for task in services:
            with suppress(asyncio.CancelledError, Exception):
                await task
        await self._heartbeat.stop()
