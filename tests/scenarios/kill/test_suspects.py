"""A payload that kills its worker, beside five of other owners, in real processes that somebody starts again."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mainspring.domain.run import State
from tests.scenarios.kill.test_kill_nine import new_run, worker
from tests.scenarios.kill.watching import until_all_ended, until_ended
from tests.scenarios.serve.processes import Place, embedded, mainspring, stored

WORKERS = 2


async def test_a_payload_that_kills_its_worker_dies_alone_and_its_neighbours_complete(place: Place) -> None:
    await one_dies_and_its_neighbours_complete(place, lambda number, life: f"w{number}-{life}")


async def test_so_it_does_where_workers_come_back_under_their_names(tmp_path: Path) -> None:
    await one_dies_and_its_neighbours_complete(embedded(tmp_path), lambda number, _: f"w{number}")


async def one_dies_and_its_neighbours_complete(place: Place, name: Callable[[int, int], str]) -> None:
    shutil.copy(Path(__file__).with_name("diary.py"), place.folder / "diary.py")
    poison = new_run("diary.kill")
    neighbours = [replace(new_run("diary.take"), owner=f"owner-{number}") for number in range(5)]

    async def supervise(number: int) -> None:
        life = 0
        while True:
            async with worker(place, name(number, life)) as running:
                await running.process.wait()
            life += 1

    async with stored(place) as store, mainspring(place, "scheduler"):
        await store.work.add([poison, *neighbours])
        supervisors = [asyncio.create_task(supervise(number)) for number in range(WORKERS)]
        try:
            await until_all_ended(store, [each.id for each in neighbours])
            killer = await until_ended(store, poison.id)
        finally:
            for each in supervisors:
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each
        ended = [await store.views.run(each.id) for each in neighbours]
    assert (killer.state, killer.reason, killer.losses) == (State.DEAD, "lost too often", 3)
    assert [run and (run.state, run.losses) for run in ended] == [(State.SUCCEEDED, 0)] * 5
