"""Additions that are their own signals: what other processes hear of them, and from whom."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from mainspring.adapters.exchange import SEPARATOR
from mainspring.adapters.postgres import herald
from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.hearing import NOTIFIER
from mainspring.adapters.postgres.signals import PostgresHub, channel_of
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.ports.audit import Entry
from mainspring.ports.work import Added
from mainspring.testing.factories import Factory
from mainspring.wiring.waking import Waker, WakingWork

LONG = 30
LATER = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, additions of one test come in quick succession."""
    monkeypatch.setattr(herald, "CALM", 60.0)


class Process:
    """One that adds, and somebody elsewhere who hears whatever is notified."""

    def __init__(self, hub: PostgresHub, store: PostgresStore, listener: "asyncpg.Connection[asyncpg.Record]") -> None:
        self._hub = hub
        self._waker = Waker(hub.sender())
        self._listener = listener
        self._heard: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        self.work = WakingWork(store.work, views=store.views, waker=self._waker, clock=SystemClock())
        self.make = Factory(start=datetime.now(UTC))

    async def listen(self, channel: str) -> None:
        await self._listener.add_listener(channel, lambda *told: self._heard.put_nowait((told[1], str(told[3]))))

    async def heard(self) -> list[tuple[str, bool]]:
        """Topics that have been notified since the last time, and whether the notifier's own connection did it."""
        await self._waker.close()
        await self._hub.publish(["that was all"])
        named = await self._listener.fetch("SELECT pid FROM pg_stat_activity WHERE application_name = $1", NOTIFIER)
        notifiers = {pid for (pid,) in named}
        topics: list[tuple[str, bool]] = []
        async with asyncio.timeout(LONG):
            while True:  # notifications arrive in order
                pid, payload = await self._heard.get()
                topic = payload.split(SEPARATOR)[1]
                if topic == "that was all":
                    return topics
                topics.append((topic, pid in notifiers))


@asynccontextmanager
async def a_process(url: str) -> AsyncIterator[Process]:
    where = address(url)
    hub = await PostgresHub.open(where, random=SystemRandom())
    store = await PostgresStore.open(url, clock=SystemClock(), random=SystemRandom(), herald=hub.herald)
    listener = await asyncpg.connect(url)
    process = Process(hub, store, listener)
    await process.listen(channel_of(where.schema))
    try:
        yield process
    finally:
        await listener.close()
        await store.close()
        await hub.close()


@pytest.fixture
async def process(postgres_url: str) -> AsyncIterator[Process]:
    async with a_process(postgres_url) as opened:
        yield opened


def silent(_: Sequence[Added]) -> Sequence[Entry]:
    return []


async def test_an_addition_in_the_calm_is_its_own_signal_and_the_only_one(process: Process) -> None:
    await process.work.add([process.make.run()])
    assert await process.heard() == [("work/default", False)]


async def test_so_is_one_that_the_audit_notes(process: Process) -> None:
    await process.work.add([process.make.run()], note=silent)
    assert await process.heard() == [("work/default", False)]


async def test_of_additions_in_quick_succession_the_first_tells_by_itself_and_the_last_is_told_of(
    process: Process,
) -> None:
    for _ in range(20):
        await process.work.add([process.make.run()])
    first, *others = await process.heard()
    assert first == ("work/default", False)
    assert {*others} == {("work/default", True)}


async def test_an_addition_for_later_disturbs_nobody(process: Process) -> None:
    await process.work.add([process.make.run(due=LATER), process.make.run(due=datetime.now(UTC) + LATER)])
    assert await process.heard() == []


async def test_workers_of_the_process_itself_are_not_woken_again_by_the_server(postgres_url: str) -> None:
    async with a_process(postgres_url) as process:
        signals = await process._hub.subscribe()
        await process.work.add([process.make.run()])
        assert await signals.wait(["work/default"], timedelta(seconds=LONG))
        await process.heard()
        assert await signals.wait(["that was all"], timedelta(seconds=LONG))
        assert not await signals.wait(["work/default"], timedelta(0))


async def test_without_a_herald_an_addition_is_told_of_by_the_notifier(postgres_url: str) -> None:
    where = address(postgres_url)
    hub = await PostgresHub.open(where, random=SystemRandom())
    store = await PostgresStore.open(postgres_url, clock=SystemClock(), random=SystemRandom())
    listener = await asyncpg.connect(postgres_url)
    process = Process(hub, store, listener)
    await process.listen(channel_of(where.schema))
    await process.work.add([process.make.run()])
    assert await process.heard() == [("work/default", True)]
    await listener.close()
    await store.close()
    await hub.close()
