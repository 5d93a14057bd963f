"""Both versions of the program on one store, while the newer one migrates it: nothing is lost, nothing done twice.

See `previous` for what the older one is.
"""

import asyncio
import shutil
from collections import Counter
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import connect
from mainspring.adapters.postgres.migrate import migrate
from tests.integration.upgrade.ledger import LEDGER
from tests.integration.upgrade.previous import CHANGED, previous_program
from tests.scenarios.kill.watching import until
from tests.scenarios.serve.processes import Place, Running, embedded, mainspring

BATCH = 20
PAUSE = 0.05
SHARE = 100
"""Runs that a process must have executed to have taken its part."""
SERVE = ("serve", "--port", "0", "--app", "ledger", "--worker-name")


class Cluster:
    """A store, processes that do everything, and a stream of jobs to all of them."""

    def __init__(self, place: Place, previous: str) -> None:
        self._place = place
        self._previous = previous
        self._turn = asyncio.Lock()
        self._urls: list[str] = []
        self.added: list[str] = []
        self.enough = asyncio.Event()

    def older(self, *arguments: str) -> AbstractAsyncContextManager[Running]:
        return mainspring(self._place, *arguments, program=self._previous)

    def newer(self, *arguments: str) -> AbstractAsyncContextManager[Running]:
        return mainspring(self._place, *arguments)

    async def load(self) -> None:
        """Add jobs, by every API in turn: a stream that never ends, not a flood."""
        body = {"jobs": [{"handler": "ledger.note"}] * BATCH}
        while not self.enough.is_set():
            async with self._turn:
                answer = await self.post("jobs/batch", body)
                self._urls.append(self._urls.pop(0))
            self.added += [item["id"] for item in answer["items"]]
            await asyncio.sleep(PAUSE)

    async def join(self, process: Running) -> None:
        """Add jobs by this process, too, once somebody is there to execute them."""
        await process.line("session.opened", logger="mainspring.worker")
        url = await process.url()
        async with self._turn:
            self._urls.insert(0, url)

    async def leave(self, process: Running) -> None:
        url = await process.url()
        async with self._turn:
            self._urls.remove(url)

    async def post(self, path: str, body: Any = None) -> Any:
        async with aiohttp.ClientSession(self._urls[0]) as client, client.post(f"/api/v1/{path}", json=body) as answer:
            assert answer.ok, await answer.text()
            return await answer.json()

    async def share_of(self, process: Running) -> None:
        """Return once the process has executed its share more than by now."""
        before = self._executed(process)

        async def executed() -> bool:
            return self._executed(process) >= before + SHARE

        await until(executed)

    async def all_done(self) -> None:
        async def done() -> bool:
            return len(self.noted()) >= len(self.added)

        await until(done)

    def noted(self) -> list[tuple[str, int]]:
        """Every call that was made: the run, and the process."""
        file = self._place.folder / LEDGER
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [(run, int(process)) for run, process in lines]

    def _executed(self, process: Running) -> int:
        return sum(number == process.process.pid for _, number in self.noted())


# Processes on one machine can be stopped together: there the long way round is for the long runs.
@pytest.fixture(params=["postgresql", pytest.param("sqlite", marks=pytest.mark.chaos)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    shutil.copy(Path(__file__).with_name("ledger.py"), tmp_path / "ledger.py")
    if request.param == "sqlite":
        place = embedded(tmp_path)
    else:
        place = Place(tmp_path, request.getfixturevalue("postgres_url"))
    return Cluster(place, previous_program(tmp_path / "previous"))


@pytest.mark.slow
async def test_the_older_program_works_on_while_the_newer_migrates_and_works_beside_it(cluster: Cluster) -> None:
    async with cluster.older(*SERVE, "older") as older, asyncio.TaskGroup() as loading:
        await cluster.join(older)
        load = loading.create_task(cluster.load())
        await cluster.share_of(older)
        async with cluster.newer(*SERVE, "newer") as newer:
            await cluster.join(newer)
            await asyncio.gather(cluster.share_of(older), cluster.share_of(newer))

            async with cluster.older("worker", "--worker-name", "late") as late:
                assert await late.ended() != 0
                assert "knows 1: upgrade it" in (await late.line("not a log line"))["text"]

            await cluster.leave(older)
            await stand_by_beside_one_that_can_not(cluster, newer, older)
            older.terminate()
            assert await older.ended() == 0
            cluster.enough.set()
            await load  # what it adds last must be known before anybody asks whether all is done
            await cluster.all_done()
            newer.terminate()
            assert await newer.ended() == 0
    assert Counter(run for run, _ in cluster.noted()) == Counter(cluster.added)


async def test_the_older_program_can_open_a_session_on_the_newer_schema(postgres_url: str) -> None:
    """As it must when it has lost its own, which a test of a working cluster doesn't wait for."""
    where = address(postgres_url)
    await migrate(where)
    statements = (CHANGED / "adapters" / "postgres" / "statements" / "sessions.sql").read_text()
    _, _, opening = statements.partition("-- name: open")
    statement, _, _ = opening.partition("-- name: ")
    connection = await connect(where)
    values = ("worker", "older", "host", 1, 8, ["default"], timedelta(minutes=1), ["ledger.note"], ["default"])
    session = await connection.fetchval(statement, *values)
    row = await connection.fetchrow("SELECT draining, drained FROM session WHERE id = $1", session)
    await connection.close()
    assert tuple(row or ()) == (False, False)


async def stand_by_beside_one_that_can_not(cluster: Cluster, newer: Running, older: Running) -> None:
    """The older one doesn't know the wish, and works on; the newer one drains."""
    for name in ("older", "newer"):
        assert (await cluster.post(f"workers/{name}/drain"))["status"] == "draining"
    await newer.line("standby.drained")
    await cluster.share_of(older)
    assert (await cluster.post("workers/older/drain"))["status"] == "draining"
    assert (await cluster.post("workers/newer/resume"))["status"] == "active"
    await cluster.share_of(newer)
