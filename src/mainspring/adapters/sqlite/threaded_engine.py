"""One writer thread that turns whatever waits in its inbox into one transaction, and readers of their own.

Operations that are asked for in one turn of a loop arrive together, and those that arrive while a commit is under way
share the next. Nothing is answered before it is durable.
"""

import asyncio
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeVar

import apsw

from mainspring.adapters.sqlite.checkpoint import Checkpointer
from mainspring.adapters.sqlite.connection import connect, lay_out_log, translation
from mainspring.adapters.sqlite.engine import Operation, Transaction, WallClock
from mainspring.adapters.sqlite.group_commit import Request, commit_group
from mainspring.adapters.sqlite.identity import identity
from mainspring.adapters.sqlite.migrate import migrate
from mainspring.adapters.sqlite.rows import to_micros
from mainspring.errors import StoreUnavailable

MAX_GROUP = 256
"""Once there are so many, a group takes no more; of one turn of a loop, so many stay together."""
READERS = 2

T = TypeVar("T")


class ThreadedEngine:
    """A writer thread with group commit, and a few reader threads."""

    def __init__(self, path: str, clock: WallClock) -> None:
        self._path = path
        self._clock = clock
        self._connection = connect(path)
        self.schema = migrate(self._connection, path)
        self.identity = identity(self._connection, path)
        lay_out_log(self._connection, path)
        self._asked: dict[asyncio.AbstractEventLoop, list[Request]] = {}
        """What was asked for in this turn of each loop: the writer would be awake before the turn is over."""
        self._inbox: SimpleQueue[list[Request] | None] = SimpleQueue()
        # Opened before anybody can take the descriptors that they need; there is one for each thread.
        self._unused = deque(_reader(path) for _ in range(READERS))
        self._at_hand = _reader(path)
        self._at_hand.set_busy_timeout(0)
        self._glancing = threading.Lock()
        self._closed = False
        self._checkpointer = Checkpointer(path, self._connection)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._writer = threading.Thread(target=self._run, name="sqlite-writer", daemon=True)
        self._writer.start()

    async def write(self, operation: Operation[T]) -> T:
        """Queue *operation* for the next group; whoever stops waiting doesn't undo it."""
        if self._closed:
            raise StoreUnavailable(f"{self._path} was closed")
        loop = asyncio.get_running_loop()
        request = Request(operation, loop, loop.create_future())
        asked = self._asked.get(loop)
        if asked is None:
            self._asked[loop] = [request]
            loop.call_soon(self._hand_in, loop)
        else:
            asked.append(request)
        result: T = await request.future
        return result

    async def read(self, operation: Operation[T]) -> T:
        """Run *operation* in a reader thread, beside the writer."""
        if self._closed:
            raise StoreUnavailable(f"{self._path} was closed")
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, operation)

    async def glance(self, operation: Operation[T]) -> T:
        """Run *operation* right here: to hand it over and to get the interpreter's lock back would take far longer."""
        if self._closed or not self._glancing.acquire(blocking=False):
            return await self.read(operation)
        try:
            return _read(self._at_hand, self._clock, operation)
        except apsw.BusyError:
            return await self.read(operation)  # there it may wait
        except apsw.Error as error:
            raise translation(error, self._path) from error
        finally:
            self._glancing.release()

    def now(self) -> int:
        """The clock's now."""
        return to_micros(self._clock.now())

    async def close(self) -> None:
        """Finish what was asked, then close the file; closing twice changes nothing."""
        if self._closed:
            return
        self._closed = True
        for loop in tuple(self._asked):
            self._hand_in(loop)
        self._inbox.put(None)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._writer.join)
        await loop.run_in_executor(None, self._readers.shutdown)
        for connection in self._unused:
            connection.close()
        with self._glancing:
            self._at_hand.close()

    def _hand_in(self, loop: asyncio.AbstractEventLoop) -> None:
        asked = self._asked.pop(loop, [])
        for start in range(0, len(asked), MAX_GROUP):
            self._inbox.put(asked[start : start + MAX_GROUP])

    def _read(self, operation: Operation[T]) -> T:
        connection = self._unused.pop()
        try:
            return _read(connection, self._clock, operation)
        except apsw.Error as error:
            raise translation(error, self._path) from error
        finally:
            self._unused.append(connection)

    def _run(self) -> None:
        while group := self._next_group():
            commit_group(self._connection, self._path, self._clock, group)
            _answer(group)
            self._checkpointer.after_commit()
        self._checkpointer.close()
        self._connection.close()

    def _next_group(self) -> list[Request]:
        asked = self._inbox.get()
        group: list[Request] = []
        while asked is not None:
            group += asked
            if len(group) >= MAX_GROUP:
                return group
            try:
                asked = self._inbox.get_nowait()
            except Empty:
                return group
        if group:  # asked to close: first what was asked before
            self._inbox.put(None)
        return group


def _reader(path: str) -> apsw.Connection:
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _read(connection: apsw.Connection, clock: WallClock, operation: Operation[T]) -> T:
    connection.execute("BEGIN")
    try:
        return operation(Transaction(connection, to_micros(clock.now())))
    finally:
        connection.execute("ROLLBACK")


def _answer(group: list[Request]) -> None:
    """Resolve all futures with one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Request]] = {}
    for request in group:
        by_loop.setdefault(request.loop, []).append(request)
    for loop, requests in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve_all, requests)
        except RuntimeError:
            continue  # that loop is closed: nobody waits any more


def _resolve_all(requests: list[Request]) -> None:
    for request in requests:
        request.resolve()
