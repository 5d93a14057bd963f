"""Workers that are killed and never come back: what they had finished is settled by others on their machine."""

import asyncio
import os
import shutil
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import psycopg
import pytest

from mainspring.adapters.files.journal import FileJournal
from mainspring.domain.ids import RunId
from mainspring.domain.run import Run, State
from mainspring.errors import ConfigurationError
from mainspring.wiring.stores import Store, file_of
from tests.scenarios.kill.test_kill_nine import RUNS, RUNS_ON_CASSANDRA, new_run, worker
from tests.scenarios.kill.watching import diary, journalled, until, until_all_ended, until_noted
from tests.scenarios.serve.processes import Place, Running, embedded, mainspring, stored

FINISHED = 20
"""Runs that a worker has in hand at once, and fewer than its slots."""


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    shutil.copy(Path(__file__).with_name("diary.py"), place.folder / "diary.py")
    async with stored(place) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def lockable(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    shutil.copy(Path(__file__).with_name("diary.py"), tmp_path / "diary.py")
    if request.param == "sqlite":
        return embedded(tmp_path)
    return Place(tmp_path, request.getfixturevalue("postgres_url"))


@contextmanager
def nothing_settled(place: Place) -> Iterator[None]:
    """Within the block the store writes nothing."""
    if place.store.startswith("sqlite"):
        # By the library that the store uses here: another copy of it would give up the locks of both when it closes.
        with closing(apsw.Connection(str(file_of(place.store)))) as connection:
            connection.set_busy_timeout(30_000)
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
    else:
        with psycopg.connect(place.store) as connection:
            connection.execute("LOCK TABLE mainspring.queue IN EXCLUSIVE MODE")
            yield
            connection.rollback()


def finished_by(place: Place, name: str) -> int:
    """How many outcomes with a result its journal has, read past its lock."""
    [file] = (place.folder / "data" / "journal").glob(f"{name}@*.journal")
    return file.read_bytes().count(b'"state":')


@dataclass(frozen=True, slots=True)
class Left:
    """What a dead worker left, and who was there when it died."""

    runs: Sequence[RunId]
    survivors: Sequence[Running]


@asynccontextmanager
async def killed_with_finished_work(place: Place, *survivors: str) -> AsyncIterator[Left]:
    """A worker that was killed when it had finished a number of runs, and settled none; the store is free again."""
    runs = [new_run("diary.wait") for _ in range(FINISHED)]
    async with stored(place) as store, mainspring(place, "scheduler"), AsyncExitStack() as others:
        await store.work.add(runs)
        # Its session outlives it by far: whoever settles doesn't race against those who take its runs over.
        async with mainspring(place, "worker", "--app", "diary", "--worker-name", "first") as first:
            await until_noted(place.folder, FINISHED)
            living = [await others.enter_async_context(worker(place, name)) for name in survivors]
            for each in living:
                await each.line("session.opened")
            with nothing_settled(place):
                (place.folder / "gate").touch()

                async def noted() -> bool:
                    return finished_by(place, "first") == FINISHED

                await until(noted)
                first.process.kill()
                await first.ended()
        yield Left([run.id for run in runs], living)


async def ended(place: Place, runs: Sequence[RunId]) -> Sequence[Run]:
    async with stored(place) as store:
        await until_all_ended(store, runs)
        found = [await store.views.run(run) for run in runs]
    return [run for run in found if run is not None]


def check_that_none_was_repeated(place: Place, runs: Sequence[Run]) -> None:
    assert len(diary(place.folder)) == FINISHED
    assert {(run.state, run.worker, run.attempt) for run in runs} == {(State.SUCCEEDED, "first", 1)}


async def test_a_survivor_settles_what_its_dead_neighbour_had_finished(lockable: Place) -> None:
    async with killed_with_finished_work(lockable, "second") as left:
        line = await left.survivors[0].line("neighbour.settled", worker="first", runs=FINISHED)
        assert line["refused"] == 0
        check_that_none_was_repeated(lockable, await ended(lockable, left.runs))


async def test_whoever_starts_in_its_place_under_another_name_settles_it_before_it_works(lockable: Place) -> None:
    async with killed_with_finished_work(lockable) as left, worker(lockable, "another") as another:
        await another.line("neighbour.settled", worker="first", runs=FINISHED)
        check_that_none_was_repeated(lockable, await ended(lockable, left.runs))


async def test_two_survivors_and_the_dead_worker_itself_at_once_do_nothing_twice(lockable: Place) -> None:
    async with killed_with_finished_work(lockable, "second", "third") as left, worker(lockable, "first") as first:
        await first.line("session.opened")
        check_that_none_was_repeated(lockable, await ended(lockable, left.runs))


async def test_a_worker_that_is_only_stopped_in_its_tracks_keeps_its_lock(tmp_path: Path) -> None:
    place = embedded(tmp_path)
    shutil.copy(Path(__file__).with_name("diary.py"), tmp_path / "diary.py")
    async with stored(place) as store, worker(place, "first") as first:
        await first.line("session.opened")
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            with closing(FileJournal(tmp_path / "data" / "journal", "survivor", store.identity)) as journal:
                assert not journal.orphans()
            with pytest.raises(ConfigurationError, match="another process runs under the name 'first'"):
                FileJournal(tmp_path / "data" / "journal", "first", store.identity)
        finally:
            os.kill(first.process.pid, signal.SIGCONT)


@pytest.mark.slow
async def test_under_load_nothing_is_repeated_that_a_worker_had_noted_and_never_came_back_for(
    store: Store, place: Place
) -> None:
    count = RUNS_ON_CASSANDRA if place.store.startswith("cassandra") else RUNS
    runs = [new_run("diary.note") for _ in range(count)]
    kept: list[tuple[int, frozenset[str]]] = []

    async def lose(running: AbstractAsyncContextManager[Running], name: str, goal: int) -> None:
        async with running as lost:
            await until_noted(place.folder, goal)
            lost.process.kill()
            await lost.ended()
        kept.append((len(diary(place.folder)), journalled(place.folder, name, store.identity)))

    async with mainspring(place, "scheduler"), worker(place, "survivor") as survivor:
        await survivor.line("session.opened")
        async with asyncio.TaskGroup() as group:
            for number in range(1, 4):
                group.create_task(lose(worker(place, f"lost-{number}"), f"lost-{number}", count * number // 5))
            await store.work.add(runs)
        await until_all_ended(store, [run.id for run in runs])
    lines = diary(place.folder)
    repeated = Counter(lines)
    assert set(repeated) == {str(run.id) for run in runs}
    for so_far, noted in kept:
        after = set(lines[so_far + 100 :])
        assert not noted & after, "what was noted as finished is never repeated"
