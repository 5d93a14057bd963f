import asyncio
import contextlib
import threading
from pathlib import Path
from typing import cast

import apsw
import pytest

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.group_commit import Request, commit_group
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.sqlite.threaded_engine import MAX_GROUP, READERS, ThreadedEngine
from mainspring.domain.ids import DEFAULT_LANE, SessionId
from mainspring.errors import SessionLost, StoreFull, StoreUnavailable
from mainspring.ports.work import Addition
from tests.integration.sqlite.support import RealClock, new_run, new_session

PATIENCE = 20


async def test_operations_of_one_turn_of_the_loop_share_a_transaction_and_only_so_many(store: SqliteStore) -> None:
    both = 2 * MAX_GROUP
    moments = await asyncio.gather(*(store._engine.write(lambda transaction: transaction.now) for _ in range(both)))
    assert len(set(moments)) == 2


async def test_one_that_is_refused_takes_nobody_with_it(store: SqliteStore) -> None:
    run = new_run()
    added, refused = await asyncio.gather(
        store.work.add([run]), store.work.claim(SessionId(999), [DEFAULT_LANE], 1), return_exceptions=True
    )
    assert isinstance(refused, SessionLost)
    assert not isinstance(added, BaseException)
    assert added[0].kind is Addition.CREATED
    assert await store.views.run(run.id) is not None


async def test_one_that_fails_halfway_leaves_nothing_behind(store: SqliteStore) -> None:
    def insert_and_fail(transaction: Transaction) -> None:
        transaction.execute("INSERT INTO hidden (id) VALUES (x'00')")
        raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        await store._engine.write(insert_and_fail)
    assert await store._engine.read(lambda transaction: transaction.value("SELECT count(*) FROM hidden")) == 0


async def test_what_was_asked_is_stored_even_if_the_asker_leaves(store: SqliteStore) -> None:
    run = new_run()
    asking = asyncio.create_task(store.work.add([run]))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await store.sessions.open(new_session())  # the writer works in order: once this is answered, so was the other
    assert await store.views.run(run.id) is not None


async def test_a_closed_store_says_so_instead_of_waiting(store: SqliteStore) -> None:
    pending = [asyncio.create_task(store.work.add([new_run()])) for _ in range(20)]
    await asyncio.sleep(0)
    await store.close()
    assert all(answer[0].kind is Addition.CREATED for answer in await asyncio.gather(*pending))
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.work.add([new_run()])
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.views.now()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.views.run(new_run().id)


async def test_a_row_is_looked_up_by_a_reader_while_the_connection_at_hand_is_in_use(store: SqliteStore) -> None:
    run = new_run()
    await store.work.add([run])
    with cast(ThreadedEngine, store._engine)._glancing:
        assert await store.views.run(run.id) is not None


async def test_a_look_up_that_finds_the_file_busy_is_made_by_a_reader(store: SqliteStore) -> None:
    answers = iter([apsw.BusyError("busy"), "found"])

    def look(_transaction: Transaction) -> object:
        answer = next(answers)
        if isinstance(answer, apsw.Error):
            raise answer
        return answer

    assert await store._engine.glance(look) == "found"


class BrokenDisk:
    """A connection whose commits and rollbacks fail."""

    in_transaction = True

    def execute(self, statement: str, _values: object = ()) -> None:
        if statement == "COMMIT":
            raise apsw.FullError("the disk is full")
        if statement == "ROLLBACK":
            raise apsw.IOError("and broken")


async def test_everybody_is_answered_even_if_nothing_can_be_rolled_back() -> None:
    loop = asyncio.get_running_loop()
    requests = [Request(lambda _: None, loop, loop.create_future()) for _ in range(2)]
    commit_group(cast("apsw.Connection", BrokenDisk()), "store.db", RealClock(), requests)
    for request in requests:
        request.resolve()
        with pytest.raises(StoreFull, match="nothing was stored"):
            await request.future


async def test_an_open_store_opens_no_more_files(store: SqliteStore) -> None:
    """Whoever takes all descriptors later mustn't be able to end it."""
    both = threading.Barrier(READERS)
    before = open_files()
    reads = (store._engine.read(lambda _: both.wait(PATIENCE)) for _ in range(READERS))
    await asyncio.gather(store.work.add([new_run()]), *reads)
    assert open_files() == before


def open_files() -> list[str]:
    """The store's, once for each descriptor."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one by which the folder is read
            found.append(str(descriptor.readlink()))
    return sorted(path for path in found if ".db" in path)
