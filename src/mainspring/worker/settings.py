"""How a worker behaves, and the ports that it works through."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from mainspring.ports.blobs import Blobs
from mainspring.ports.broker import Broker
from mainspring.ports.incidents import Incidents, Untold
from mainspring.ports.journal import Journal
from mainspring.ports.locks import Leases
from mainspring.ports.observing import Observer, Unobserved
from mainspring.ports.output import Output
from mainspring.ports.sessions import Sessions
from mainspring.ports.signals import Signals
from mainspring.ports.tasks import Tasks
from mainspring.ports.tickets import Tickets
from mainspring.ports.time import Clock, Random
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.transactions import Transactions
from mainspring.ports.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What can be said about a worker from outside."""

    name: str
    """A worker that comes back under its name takes up its journal."""
    concurrency: int = 32
    """Runs that execute at the same time."""
    ttl: timedelta = timedelta(seconds=15)
    """How long others wait for a sign of life before they take the runs over; the heartbeat is a third of it."""
    drain: timedelta = timedelta(seconds=30)
    """How long executing runs may take to end once the worker was asked to stop."""
    cancel_grace: timedelta = timedelta(seconds=10)
    """How long a handler may take to stop by itself."""
    poll: timedelta = timedelta(seconds=1)
    """The longest sleep between two looks for work, give or take a quarter."""
    prefetch: timedelta = timedelta(milliseconds=50)
    """How much work may be in hand, at the measured rate; slow handlers therefore get no prefetch at all."""
    prefetch_limit: int = 4000
    """The most runs in hand beyond those that execute."""
    host: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """The way by which runs come that aren't only claimed."""

    broker: Broker
    tickets: Tickets


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPorts:
    """All that a worker reaches the world through."""

    work: Work
    sessions: Sessions
    signals: Signals
    locks: Leases
    output: Output
    blobs: Blobs
    journal: Journal
    clock: Clock
    random: Random
    tasks: Tasks
    tracing: Tracing = UNTRACED
    observer: Observer = field(default_factory=Unobserved)
    incidents: Incidents = field(default_factory=Untold)
    carrier: Carrier | None = None
    """Where work comes by way of a broker; None to claim all of it."""
    transactions: Transactions | None = None
    """For handlers whose effects lie in the store's own database, where the store is one."""
    heartbeat: Callable[[], AbstractAsyncContextManager[Sessions]] | None = None
    """Opens the sessions on the heartbeat's own loop, for stores whose connections belong to one; None shares ours."""


class Ended(StrEnum):
    """Why a worker came to its end."""

    ASKED = "asked"
    SLOTS_LOST = "slots lost"
    """Too many handlers hang in threads that nothing can end: only a new process has all its slots again."""
