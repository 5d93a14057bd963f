"""What runs in the simulated processes: the real worker and the real services, wired to simulated ports."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mainspring.domain.plan import Advance
from mainspring.ports.journal import Journal
from mainspring.ports.sessions import NewSession, Role
from mainspring.ports.signals import Signals
from mainspring.ports.timetable import Due, Timetable
from mainspring.services.membership import Membership
from mainspring.services.planner import Planner
from mainspring.services.pruner import Pruner
from mainspring.services.publishing import Publisher
from mainspring.services.rescuer import Rescuer
from mainspring.services.ticker import Ticker
from mainspring.testing.simulation.broker import SimulatedServer
from mainspring.testing.simulation.handlers import Effects, ObservedTasks, registry_of
from mainspring.testing.simulation.history import Answered
from mainspring.testing.simulation.ports import ProcessClock, SeededRandom, Signalling
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.storage import Storage
from mainspring.worker.settings import Carrier, WorkerPorts, WorkerSettings
from mainspring.worker.worker import Worker

TTL = timedelta(seconds=6)
"""Short, so that a schedule needn't last long to outlive sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every process finds outside itself."""

    storage: Storage
    signalling: Signalling
    effects: Effects
    broker: SimulatedServer | None = None

    def port(self, process: Process, name: str) -> Any:
        """A port of the store."""
        return self.storage.port(process, name)

    def carrier(self, process: Process) -> Carrier | None:
        """The way to the broker, where there is one."""
        if self.broker is None:
            return None
        return Carrier(broker=self.broker.join(process), tickets=self.port(process, "tickets"))

    def signals(self, process: Process) -> Signals:
        """For somebody who listens, and wakes others as whoever wakes does here."""
        return self._publishing(process, self.signalling.subscribe(process))

    def sender(self, process: Process) -> Signals:
        """For somebody who only wakes others."""
        return self._publishing(process, self.signalling.sender(process))

    def _publishing(self, process: Process, signals: Signals) -> Signals:
        carrier = self.carrier(process)
        if carrier is None:
            return signals
        return Publisher(signals, carrier.tickets, carrier.broker, ProcessClock(process))


class WatchedTimetable:
    """The timetable as a planner reaches it, with a note of what it saw and what it made of that."""

    def __init__(self, timetable: Timetable, process: Process) -> None:
        self._timetable = timetable
        self._process = process
        self.save = timetable.save

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:
        """What it sees."""
        sent = self._process.universe.time
        due = await self._timetable.due(limit, shards)
        self._note("looked", (sent, shards), due)
        return due

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """What it decides, and what comes of it."""
        self._note("decided", (), advances)
        answers = await self._timetable.fire(advances)
        self._note("fired", (), answers)
        return answers

    def _note(self, what: str, arguments: tuple[Any, ...], answer: Any) -> None:
        process = self._process
        process.history.record(Answered(process.universe.time, process.label, f"planner.{what}", arguments, answer))


async def work(process: Process, around: Surroundings, journal: Journal) -> None:
    """Be a worker until asked to stop."""
    process.stop, process.hurry = asyncio.Event(), asyncio.Event()
    ports = WorkerPorts(
        work=around.port(process, "work"),
        sessions=around.port(process, "sessions"),
        signals=around.signals(process),
        locks=around.port(process, "locks"),
        output=around.port(process, "output"),
        blobs=around.port(process, "blobs"),
        journal=journal,
        clock=ProcessClock(process),
        random=SeededRandom(process),
        tasks=ObservedTasks(process, around.effects),
        carrier=around.carrier(process),
    )
    settings = WorkerSettings(
        name=process.name,
        concurrency=process.random.choice((2, 4, 8)),
        ttl=TTL,
        drain=timedelta(seconds=3),
        cancel_grace=timedelta(seconds=1),
        poll=timedelta(seconds=2),
    )
    await Worker(ports, settings, registry_of(process, around.effects)).run(process.stop, process.hurry)


async def schedule(process: Process, around: Surroundings) -> None:
    """Be a scheduler until asked to stop."""
    process.stop, process.hurry = asyncio.Event(), asyncio.Event()
    clock, random = ProcessClock(process), SeededRandom(process)
    work_port, sessions = around.port(process, "work"), around.port(process, "sessions")
    timetable, upkeep, audit = (around.port(process, name) for name in ("timetable", "upkeep", "audit"))
    signals = around.signals(process)
    new = NewSession(role=Role.SCHEDULER, name=process.name, ttl=TTL)
    shards = around.storage.shards
    membership = Membership(sessions, signals, clock, random, session=new, shards=shards)
    owns = membership.owns
    services = (
        membership,
        Planner(WatchedTimetable(timetable, process), signals, clock, random, owns=owns, shards=shards),
        Ticker(work_port, sessions, signals, clock, random, owns=owns),
        Rescuer(
            sessions=sessions,
            work=work_port,
            upkeep=upkeep,
            audit=audit,
            signals=signals,
            clock=clock,
            random=random,
            owns=owns,
        ),
        Pruner(upkeep, clock, random, owns=owns),
    )
    await asyncio.gather(*(service.run(process.stop) for service in services))
