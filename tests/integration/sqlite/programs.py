"""What the child processes of test_processes.py do."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from mainspring.adapters.sqlite import checkpoint
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import DEFAULT_LANE
from tests.integration.sqlite.support import RealClock, new_run, new_session


async def add(path: str) -> None:
    """Add runs for ever and say which were acknowledged."""
    store = await SqliteStore.open(path, clock=RealClock())
    while True:
        runs = [new_run() for _ in range(3)]
        await store.work.add(runs)
        sys.stdout.write("".join(f"{run.id}\n" for run in runs))
        sys.stdout.flush()


async def add_and_move(path: str) -> None:
    """The same, while the log is moved into the file all the time."""
    checkpoint.WORTHWHILE = 1
    await add(path)


async def claim(path: str, name: str) -> None:
    """Claim until nothing is left and say what was handed over."""
    store = await SqliteStore.open(path, clock=RealClock())
    session = await store.sessions.open(new_session(name))
    while attempts := (await store.work.claim(session, [DEFAULT_LANE], 7)).attempts:
        sys.stdout.write("".join(f"{attempt.run_id}\n" for attempt in attempts))
    await store.close()


async def open_only(path: str) -> None:
    """Open the store, which creates or migrates it."""
    store = await SqliteStore.open(path, clock=RealClock())
    sys.stdout.write(f"schema {store.schema}\n")
    await store.close()


PROGRAMS: dict[str, Callable[..., Awaitable[None]]] = {
    "add": add,
    "add_and_move": add_and_move,
    "claim": claim,
    "open": open_only,
}

if __name__ == "__main__":

    async def main() -> None:
        await PROGRAMS[sys.argv[1]](*sys.argv[2:])

    asyncio.run(main())
