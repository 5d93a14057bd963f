"""When a run starts again: on time, by whoever is free, without anybody's poll."""

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from mainspring.adapters.memory.signals import Hub
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.retry import RetryPolicy
from mainspring.ports.signals import lane_topic
from mainspring.testing.factories import Factory, a_task
from mainspring.worker.context import Context
from mainspring.worker.flow import RetryAfter, Snooze
from mainspring.worker.registry import Registry
from mainspring.worker.settings import WorkerPorts, WorkerSettings
from mainspring.worker.worker import Worker
from tests.unit.worker.harness import ListJournal
from tests.unit.worker.leaps import START, Half, LoopClock, LoopTasks, leaping

WAIT = timedelta(milliseconds=100)
TRIALS = 50
ATTEMPTS = 3


class Site:
    """Workers on one store and one hub of signals, in time that leaps. There is no scheduler: nobody else looks."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.hub = Hub()
        self.clock = LoopClock()
        self.make = Factory(start=START)
        self.stop, self.hurry = asyncio.Event(), asyncio.Event()
        self.workers: list[asyncio.Task[Any]] = []

    def start(self, name: str, registry: Registry, *, stop: asyncio.Event | None = None, **settings: Any) -> Worker:
        ports = WorkerPorts(
            work=self.store.work,
            sessions=self.store.sessions,
            signals=self.hub.subscribe(),
            locks=self.store.locks,
            output=self.store.output,
            blobs=self.store.blobs,
            journal=ListJournal(),
            clock=self.clock,
            random=Half(),
            tasks=LoopTasks(),
        )
        worker = Worker(ports, WorkerSettings(name=name, **settings), registry)
        self.workers.append(asyncio.ensure_future(worker.run(stop or self.stop, self.hurry)))
        return worker

    async def submit(self, **terms: Any) -> None:
        await self.store.work.add([self.make.run(task=a_task(**terms))])
        await self.hub.subscribe().notify([lane_topic(DEFAULT_LANE)])

    async def end(self) -> None:
        self.stop.set()
        await asyncio.gather(*self.workers)
        await self.store.close()


async def a_site() -> Site:
    return Site(await SqliteStore.open(":memory:", clock=LoopClock(), inline=True))


@pytest.mark.parametrize("how", ["a policy", "the handler", "a snooze"])
def test_a_wait_of_a_tenth_of_a_second_is_one_in_fifty_of_fifty_trials(how: str) -> None:
    @leaping
    async def trials() -> None:
        site, registry = await a_site(), Registry()
        begun: list[float] = []
        done = asyncio.Event()

        @registry.handler("test.echo")
        async def handle(_: Any, __: Context) -> None:
            begun.append(site.clock.monotonic())
            if len(begun) % ATTEMPTS == 0:
                done.set()
            elif how == "a snooze":
                raise Snooze(WAIT)
            elif how == "the handler":
                raise RetryAfter(WAIT)
            else:
                raise ValueError("not yet")

        site.start("worker-1", registry)
        for trial in range(TRIALS):
            await site.clock.sleep(timedelta(milliseconds=37 * trial))  # at any phase of the worker's own looks
            await site.submit(retry=RetryPolicy(initial=WAIT))
            await done.wait()
            done.clear()
            waits = [later - earlier for earlier, later in pairwise(begun[-ATTEMPTS:])]
            growing = 2 if how == "a policy" else 1
            assert waits == pytest.approx([0.1, 0.1 * growing], abs=0.005)
        await site.end()

    trials()


@leaping
async def test_what_one_worker_hands_back_at_its_end_another_begins_at_once() -> None:
    site, busy, idle = await a_site(), Registry(), Registry()
    held, begun = asyncio.Event(), asyncio.Event()

    @busy.handler("test.echo")
    async def hold() -> None:
        held.set()
        await asyncio.Event().wait()

    @idle.handler("test.echo")
    async def begin() -> None:
        begun.set()

    leaves = asyncio.Event()
    await site.start("worker-1", busy, stop=leaves, drain=timedelta(milliseconds=10)).opened.wait()
    await site.submit()
    await held.wait()
    await site.start("worker-2", idle).opened.wait()
    await site.clock.sleep(timedelta(milliseconds=300))
    leaves.set()
    left_at = site.clock.monotonic()
    await begun.wait()
    assert site.clock.monotonic() - left_at < 0.05
    await site.end()
