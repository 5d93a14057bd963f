"""A server that ends connections, dies and comes back, or has no space: nothing is lost, and nobody restarts."""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import Connection, Engine
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.domain.ids import DEFAULT_LANE, RunId, SessionId
from mainspring.domain.outcome import Succeeded, judge
from mainspring.domain.run import Attempt, State
from mainspring.errors import StoreError, StoreFull
from mainspring.ports.work import Addition
from mainspring.testing.factories import Factory, a_session
from servers.postgres import PostgresServer
from tests.integration.postgres.stores import opened
from tests.missing import do_without_rights

JOBS = 300
CALLERS = 4
KILLS = 40


class Load:
    """Adds runs one by one and executes what is there, as long as it takes; every refusal is met by trying again."""

    def __init__(self, store: PostgresStore, session: SessionId, make: Factory) -> None:
        self._store = store
        self._session = session
        self._make = make
        self.accepted: set[RunId] = set()
        self.refusals = 0

    async def run(self, jobs: int) -> None:
        done = asyncio.Event()
        workers = [asyncio.create_task(self._work(done)) for _ in range(2)]
        await asyncio.gather(*(self._add(jobs // CALLERS) for _ in range(CALLERS)))
        done.set()
        await asyncio.gather(*workers)

    async def _add(self, jobs: int) -> None:
        for _ in range(jobs):
            run = self._make.run()
            while run.id not in self.accepted:
                try:
                    (answer,) = await self._store.work.add([run])
                except StoreError:
                    await self._refused()
                else:
                    assert answer.kind in (Addition.CREATED, Addition.EXISTING)
                    self.accepted.add(run.id)

    async def _work(self, done: asyncio.Event) -> None:
        while True:
            try:
                finished = done.is_set()
                attempts = (await self._store.work.claim(self._session, [DEFAULT_LANE], 50)).attempts
                # A claim whose answer was lost shows up among what the session holds.
                attempts = attempts or await self._store.sessions.held(self._session, 50)
                await self._settle(attempts)
                if finished and not attempts:
                    return
            except StoreError:
                await self._refused()

    async def _settle(self, attempts: Sequence[Attempt]) -> None:
        verdicts = [judge(each, Succeeded(), now=each.started_at, uniform=0.0) for each in attempts]
        await self._store.work.settle(verdicts)

    async def _refused(self) -> None:
        self.refusals += 1
        await asyncio.sleep(0.01)


async def all_succeeded(store: PostgresStore, runs: set[RunId]) -> bool:
    seen = [await store.views.run(run) for run in runs]
    return all(run is not None and run.state is State.SUCCEEDED and run.fence >= 1 for run in seen)


async def succeeded(store: PostgresStore) -> int:
    figures = await store.views.figures()
    return sum(tally.ended.get(State.SUCCEEDED, 0) for tally in figures.tallies)


async def test_connections_that_are_ended_in_a_loop_cost_time_and_nothing_else(
    postgres_url: str, postgres_administration: str
) -> None:
    async with opened(postgres_url) as store:
        session = await store.sessions.open(a_session("worker", ttl=timedelta(hours=1)))
        load = Load(store, session, Factory(start=await store.views.now()))
        killer = await asyncpg.connect(postgres_administration)
        running = asyncio.create_task(load.run(JOBS))
        ended = 0
        while not running.done() and ended < KILLS:
            ended += await killer.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'mainspring' AND datname = $1",
                address(postgres_url).url.rpartition("/")[2],
            )
            await asyncio.sleep(0.02)
        await killer.close()
        await running
        assert ended > 0
        assert len(load.accepted) == JOBS
        assert await all_succeeded(store, load.accepted)
        assert await succeeded(store) == JOBS


async def test_a_server_that_is_killed_and_comes_back_is_found_again(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.url("postgres")) as store:
        session = await store.sessions.open(a_session("worker", ttl=timedelta(hours=1)))
        load = Load(store, session, Factory(start=await store.views.now()))
        running = asyncio.create_task(load.run(JOBS))
        for _ in range(2):
            known = len(load.accepted)
            while len(load.accepted) < min(known + JOBS // 10, JOBS):  # noqa: ASYNC110 - under way, then killed
                await asyncio.sleep(0.005)
            await asyncio.to_thread(postgres_server.kill)
            await asyncio.to_thread(postgres_server.start)
        await running
        assert load.refusals > 0
        assert await all_succeeded(store, load.accepted)
        assert await succeeded(store) == JOBS


async def test_transactions_that_stand_in_each_others_way_are_repeated(postgres_url: str) -> None:
    async with opened(postgres_url):
        engine = Engine(address(postgres_url), SystemRandom())
        await engine.open()
        await engine.execute("INSERT INTO lock VALUES ('a', '', 0, now()), ('b', '', 0, now())")
        met = asyncio.Barrier(2)
        tries = 0

        def crossing(first: str, second: str) -> Callable[[Connection], Awaitable[None]]:
            async def operation(connection: Connection) -> None:
                nonlocal tries
                tries += 1
                await connection.execute("UPDATE lock SET fence = fence + 1 WHERE name = $1", first)
                if tries <= 2:
                    await met.wait()
                await connection.execute("UPDATE lock SET fence = fence + 1 WHERE name = $1", second)

            return operation

        await asyncio.gather(engine.write(crossing("a", "b")), engine.write(crossing("b", "a")))
        assert tries == 3
        assert [tuple(row) for row in await engine.fetch("SELECT fence FROM lock")] == [(2,), (2,)]
        await engine.close()


@pytest.fixture
def small_disk(postgres_server: PostgresServer) -> Iterator[Path]:
    """A file system with little room, where the server may write."""
    folder = postgres_server.folder.path / "small"
    folder.mkdir()
    if os.geteuid() != 0 or _mounted(folder, "size=4m,mode=777"):
        do_without_rights("mounting a small file system")
    place = folder / "tables"
    place.mkdir()
    owner = postgres_server.folder.data.stat()
    os.chown(place, owner.st_uid, owner.st_gid)
    place.chmod(0o700)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _mounted(folder: Path, options: str) -> int:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def _enlarge(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)


async def test_a_full_disk_refuses_whole_batches_until_there_is_room_again(
    postgres_server: PostgresServer, small_disk: Path
) -> None:
    url = postgres_server.url()
    async with opened(url) as store:
        administrator = await asyncpg.connect(url)
        await administrator.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        await administrator.execute("ALTER TABLE mainspring.queue SET TABLESPACE small")
        await administrator.close()
        make = Factory(start=await store.views.now())
        stored: list[RunId] = []
        refused: list[RunId] = []
        while not refused:
            batch = [make.run(payload=b'"' + os.urandom(1000).hex().encode() + b'"') for _ in range(100)]
            try:
                await store.work.add(batch)
            except StoreFull:
                refused = [run.id for run in batch]
            else:
                stored += [run.id for run in batch]
        assert all([await store.views.run(run) is not None for run in stored])
        assert not any([await store.views.run(run) is not None for run in refused])
        await asyncio.to_thread(_enlarge, small_disk.parent)
        (answer,) = await store.work.add([make.run()])
        assert answer.kind is Addition.CREATED
