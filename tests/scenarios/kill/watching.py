"""What the killed workers' handlers left behind, and waiting for what other processes do."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

from mainspring.adapters.files.journal import FileJournal
from mainspring.domain.ids import RunId
from mainspring.domain.run import Run
from mainspring.ports.journal import Finished
from mainspring.wiring.stores import Store
from tests.scenarios.serve.processes import PATIENCE


def diary(folder: Path) -> list[str]:
    path = folder / "diary"
    return path.read_text().splitlines() if path.exists() else []


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Neither files nor other processes' stores tell when they change: look again until it is so."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)


async def until_noted(folder: Path, lines: int) -> None:
    async def noted() -> bool:
        return len(diary(folder)) >= lines

    await until(noted)


async def until_ended(store: Store, run_id: RunId) -> Run:
    async def ended() -> bool:
        run = await store.views.run(run_id)
        return run is not None and run.state.terminal

    await until(ended)
    run = await store.views.run(run_id)
    assert run is not None
    return run


async def until_all_ended(store: Store, runs: Collection[RunId]) -> None:
    """By the runs themselves: not on every store do figures know what somebody did in the instant of its death."""
    left = dict.fromkeys(runs)

    async def all_ended() -> bool:
        while left:
            run = await store.views.run(next(iter(left)))
            if run is None or not run.state.terminal:
                return False
            del left[run.id]
        return True

    await until(all_ended)


def journalled(folder: Path, worker: str, identity: str) -> frozenset[str]:
    """The runs that a worker, who is dead, had noted as finished."""
    journal = FileJournal(folder / "data" / "journal", worker, identity)
    try:
        return frozenset(str(note.verdict.run_id) for note in journal.replay() if isinstance(note, Finished))
    finally:
        journal.close()
