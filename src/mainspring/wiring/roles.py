"""The roles that a process can play, put together from what it shares."""

import asyncio
import os
import socket
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from mainspring.adapters.files.journal import FileJournal
from mainspring.adapters.system.tasks import SystemTasks
from mainspring.errors import ConfigurationError
from mainspring.ports.observing import Observer
from mainspring.ports.sessions import NewSession
from mainspring.ports.sessions import Role as SessionRole
from mainspring.services.lookout import Lookout
from mainspring.services.membership import Membership
from mainspring.services.planner import Planner
from mainspring.services.pruner import Pruner
from mainspring.services.rescuer import Rescuer
from mainspring.services.space import SpaceWatch
from mainspring.services.ticker import Ticker
from mainspring.wiring import builtin
from mainspring.wiring.apps import Application, load_apps, merge
from mainspring.wiring.brokers import work_pipe
from mainspring.wiring.coordination import chosen_leadership, probes
from mainspring.wiring.measuring import MeasuredAttempts
from mainspring.wiring.process import Role
from mainspring.wiring.resources import Resources
from mainspring.wiring.settings import Settings
from mainspring.wiring.telling import ToldAttempts
from mainspring.worker.registry import Registry
from mainspring.worker.settings import Ended, WorkerPorts, WorkerSettings
from mainspring.worker.worker import Worker

MOST_ON_A_HOST = 1000
"""How many workers without a name of their own are told apart by a number."""


async def scheduler_roles(resources: Resources) -> list[Role]:
    """Fires the timetable, wakes workers on time, rescues what dead workers held and forgets what is old."""
    settings, store, clock, random = resources.settings, resources.store, resources.clock, resources.random
    signals = await resources.switchboard.subscribe()
    membership = Membership(
        store.sessions,
        signals,
        clock,
        random,
        session=NewSession(
            role=SessionRole.SCHEDULER,
            name=_scheduler_name(settings),
            ttl=settings.scheduler_ttl,
            host=socket.gethostname(),
            pid=os.getpid(),
        ),
        shards=store.shards,
        leadership=await chosen_leadership(settings, random=random, closing=resources.closing),
    )
    owns = membership.owns
    resources.readiness.append(membership.opened.is_set)
    incidents = resources.incidents
    planner = Planner(
        store.timetable,
        signals,
        clock,
        random,
        owns=owns,
        shards=store.shards,
        poll=settings.scan_interval,
        incidents=incidents,
    )
    rescuer = Rescuer(
        sessions=store.sessions,
        work=store.work,
        upkeep=store.upkeep,
        audit=store.audit,
        signals=signals,
        clock=clock,
        random=random,
        owns=owns,
        incidents=incidents,
    )
    return [
        _service("membership", membership),
        _service("planner", planner),
        _service("ticker", Ticker(store.work, store.sessions, signals, clock, random, owns=owns)),
        _service("rescuer", rescuer),
        _service("pruner", Pruner(store.upkeep, clock, random, owns=owns, retention=settings.retention)),
    ]


async def worker_role(resources: Resources, applications: Sequence[Application] = ()) -> Role:
    """Claims and executes runs of the handlers in *applications* and of those that the settings name."""
    settings, store, closing = resources.settings, resources.store, resources.closing
    registry = Registry()
    held_open = builtin.register(registry, resources)
    closing.push_async_callback(held_open.close)
    merge(registry, [each.registry for each in (*load_apps(settings.apps), *applications)])
    name, journal = open_journal(settings, store.identity)
    closing.callback(journal.close)
    tasks = SystemTasks(settings.concurrency, preload=[app.partition(":")[0] for app in settings.apps])
    closing.callback(tasks.close)
    ports = WorkerPorts(
        work=store.work,
        sessions=store.sessions,
        signals=await resources.switchboard.subscribe(),
        locks=store.locks,
        output=store.output,
        blobs=store.blobs,
        journal=journal,
        clock=resources.clock,
        random=resources.random,
        tasks=tasks,
        tracing=resources.tracing,
        observer=_observer(resources),
        incidents=resources.incidents,
        carrier=resources.carrier,
        transactions=store.transactions,
        heartbeat=store.heartbeat,
    )
    worker = Worker(
        ports,
        WorkerSettings(
            name=name,
            concurrency=settings.concurrency,
            ttl=settings.worker_ttl,
            drain=settings.drain,
            host=socket.gethostname(),
            pid=os.getpid(),
        ),
        registry,
    )

    resources.readiness.append(worker.opened.is_set)

    def wait() -> str | None:
        count, drain = worker.executing, settings.drain.total_seconds()
        return f"up to {drain:g} s for {count} execution{'' if count == 1 else 's'}" if count else None

    resources.waits.append(wait)

    async def run(stop: asyncio.Event, hurry: asyncio.Event) -> None:
        if await worker.run(stop, hurry) is Ended.SLOTS_LOST:
            raise RuntimeError("too many handlers hang in threads that nothing can end; start the worker again")

    return Role(name="worker", run=run)


def _observer(resources: Resources) -> Observer:
    counting = MeasuredAttempts(resources.measurements)
    return ToldAttempts(counting) if resources.settings.log_level == "debug" else counting


def open_journal(settings: Settings, identity: str) -> tuple[str, FileJournal]:
    """A journal and the name that it belongs to; workers that weren't named are numbered, the same after a restart."""
    folder = settings.data / "journal"
    if settings.given("worker_name"):
        return settings.worker_name, FileJournal(folder, settings.worker_name, identity)
    names = [settings.worker_name, *(f"{settings.worker_name}-{number}" for number in range(2, MOST_ON_A_HOST))]
    for name in names[:-1]:
        try:
            return name, FileJournal(folder, name, identity)
        except ConfigurationError as error:
            if error.__cause__ is None or not isinstance(error.__cause__, BlockingIOError):
                raise
    return names[-1], FileJournal(folder, names[-1], identity)


def space_role(resources: Resources) -> Role:
    """Finds out when a store that was full has room again."""
    watch = SpaceWatch(resources.space, resources.store.blobs, resources.clock, resources.random)
    return _service("space", watch)


async def lookout_roles(resources: Resources) -> list[Role]:
    """Keep an eye on what stands beside the store, for those who ask the API."""
    roles: list[Role] = []
    for probe, purposes in probes(resources.settings, closing=resources.closing):
        lookout = Lookout(probe, resources.clock, resources.random)
        await lookout.step()
        resources.pipes += [partial(lookout.pipe, purpose) for purpose in purposes]
        roles.append(_service("lookout", lookout))
    if resources.carrier is not None:
        resources.pipes.append(partial(work_pipe, resources.carrier.broker))
    return roles


class _Service(Protocol):
    async def run(self, stop: asyncio.Event) -> None: ...


def _service(name: str, service: _Service) -> Role:
    async def run(stop: asyncio.Event, hurry: asyncio.Event) -> None:  # noqa: ARG001 - a step is short
        await service.run(stop)

    return Role(name=name, run=run)


def _scheduler_name(settings: Settings) -> str:
    """Work is shared out by name, so that two processes on one host need two."""
    given = settings.given("scheduler_name")
    return settings.scheduler_name if given else f"{settings.scheduler_name}-{os.getpid()}"
