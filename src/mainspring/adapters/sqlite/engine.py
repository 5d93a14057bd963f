"""One writer thread that turns whatever waits in its inbox into one transaction, and readers of their own.

A commit costs an fsync, so operations that arrive while one is under way share the next. Each of several operations
runs in a savepoint: one that fails takes back its own changes only. Nothing is answered before it is durable.

Statements take and return whole batches as JSON (one step each): every step gives up the interpreter's lock, and
getting it back from a busy event loop can take milliseconds.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

import apsw

from mainspring.adapters.sqlite.connection import connect, lay_out_log, translation
from mainspring.adapters.sqlite.migrate import migrate
from mainspring.adapters.sqlite.rows import to_micros
from mainspring.errors import StoreUnavailable

MAX_GROUP = 256
CHECKPOINT_PAGES = 4_000
READERS = 2

_FAULT_OF_THE_OPERATION = (apsw.ConstraintError, apsw.SQLError, apsw.MismatchError, apsw.TooBigError)

T = TypeVar("T")
Operation = Callable[["Transaction"], T]


class WallClock(Protocol):
    """The part of the Clock port that a store needs: its now."""

    def now(self) -> datetime:
        """The wall clock."""
        ...


@dataclass(frozen=True, slots=True)
class Transaction:
    """A connection inside a transaction, and the moment that counts as now in it."""

    connection: apsw.Connection
    now: int

    def execute(self, statement: str, *values: Any) -> None:
        """Run a statement that answers nothing."""
        self.connection.execute(statement, values)

    def value(self, statement: str, *values: Any) -> Any:
        """The only row, or None; of a single column, what is in it."""
        return self.connection.execute(statement, values).get

    def changes(self) -> int:
        """Rows that the last statement changed."""
        return self.connection.changes()


@dataclass(slots=True)
class _Request:
    operation: Operation[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        if self.future.done():  # whoever asked was cancelled; what was stored stays stored
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Engine(Protocol):
    """Runs operations against the file."""

    schema: int

    async def write(self, operation: Operation[T]) -> T:
        """Run *operation* in a transaction and return once it is durable."""
        ...

    async def read(self, operation: Operation[T]) -> T:
        """Run *operation* on one consistent state."""
        ...

    async def glance(self, operation: Operation[T]) -> T:
        """The same for an *operation* that looks up a few rows by their ids."""
        ...

    def now(self) -> int:
        """The store's now, in microseconds."""
        ...

    async def close(self) -> None:
        """Finish what was asked and close the file."""
        ...


class InlineEngine:
    """Everything in the calling thread, one transaction per operation: for the simulation."""

    def __init__(self, path: str, clock: WallClock) -> None:
        self._path = path
        self._clock = clock
        self._connection = connect(path)
        self.schema = migrate(self._connection, path)

    async def write(self, operation: Operation[T]) -> T:
        """Run *operation* in a transaction of its own."""
        request = _Request(operation, asyncio.get_running_loop(), asyncio.get_running_loop().create_future())
        _commit_group(self._connection, self._path, self._clock, [request])
        request.resolve()
        result: T = await request.future
        return result

    async def read(self, operation: Operation[T]) -> T:
        """Run *operation* on the same connection: it sees what was committed."""
        return operation(Transaction(self._connection, to_micros(self._clock.now())))

    async def glance(self, operation: Operation[T]) -> T:
        """No other than a read here."""
        return await self.read(operation)

    def now(self) -> int:
        """The clock's now."""
        return to_micros(self._clock.now())

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class ThreadedEngine:
    """A writer thread with group commit, and a few reader threads."""

    def __init__(self, path: str, clock: WallClock) -> None:
        self._path = path
        self._clock = clock
        self._connection = connect(path)
        self.schema = migrate(self._connection, path)
        lay_out_log(self._connection, path)
        self._inbox: SimpleQueue[_Request | None] = SimpleQueue()
        self._local = threading.local()
        self._at_hand = _reader(path)
        self._at_hand.set_busy_timeout(0)
        self._glancing = threading.Lock()
        self._closed = False
        self._pages = 0
        self._connection.set_wal_hook(self._note_pages)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader", initializer=self._open_reader)
        self._writer = threading.Thread(target=self._run, name="sqlite-writer", daemon=True)
        self._writer.start()

    async def write(self, operation: Operation[T]) -> T:
        """Queue *operation* for the next group; whoever stops waiting doesn't undo it."""
        if self._closed:
            raise StoreUnavailable(f"{self._path} was closed")
        loop = asyncio.get_running_loop()
        request = _Request(operation, loop, loop.create_future())
        self._inbox.put(request)
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
        self._inbox.put(None)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._writer.join)
        await loop.run_in_executor(None, self._readers.shutdown)
        with self._glancing:
            self._at_hand.close()

    def _open_reader(self) -> None:
        self._local.connection = _reader(self._path)

    def _read(self, operation: Operation[T]) -> T:
        try:
            return _read(self._local.connection, self._clock, operation)
        except apsw.Error as error:
            raise translation(error, self._path) from error

    def _run(self) -> None:
        while group := self._next_group():
            _commit_group(self._connection, self._path, self._clock, group)
            _answer(group)
            self._checkpoint_if_worthwhile()
        self._connection.close()

    def _next_group(self) -> list[_Request]:
        first = self._inbox.get()
        group: list[_Request] = []
        while first is not None:
            group.append(first)
            if len(group) == MAX_GROUP:
                return group
            try:
                first = self._inbox.get_nowait()
            except Empty:
                return group
        if group:  # asked to close: first what was asked before
            self._inbox.put(None)
        return group

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _checkpoint_if_worthwhile(self) -> None:
        if self._pages < CHECKPOINT_PAGES:
            return
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error:
            return  # a full disk or a busy file: the log keeps everything, and the next commit tries again


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


def _commit_group(connection: apsw.Connection, path: str, clock: WallClock, group: list[_Request]) -> None:
    """Run a group in one transaction; afterwards each request has its result or its error."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        transaction = Transaction(connection, to_micros(clock.now()))
        if len(group) == 1:
            _run(transaction, group[0])
            connection.execute("COMMIT" if group[0].error is None else "ROLLBACK")
            return
        for request in group:
            _run_in_savepoint(transaction, request)
        connection.execute("COMMIT")
    except apsw.Error as error:
        failure = translation(error, path)
        for request in group:
            request.error = failure
        # The writer must live on, or everybody would wait for ever: what can't be rolled back fails the next group.
        with suppress(apsw.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _run_in_savepoint(transaction: Transaction, request: _Request) -> None:
    transaction.execute("SAVEPOINT request")
    _run(transaction, request)
    if request.error is not None:
        transaction.execute("ROLLBACK TO request")
    transaction.execute("RELEASE request")


def _run(transaction: Transaction, request: _Request) -> None:
    try:
        request.result = request.operation(transaction)
    except Exception as error:
        if isinstance(error, apsw.Error) and not isinstance(error, _FAULT_OF_THE_OPERATION):
            raise  # the file itself has a problem: the whole group must learn of it
        request.error = error


def _answer(group: list[_Request]) -> None:
    """Resolve all futures with one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Request]] = {}
    for request in group:
        by_loop.setdefault(request.loop, []).append(request)
    for loop, requests in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve_all, requests)
        except RuntimeError:
            continue  # that loop is closed: nobody waits any more


def _resolve_all(requests: list[_Request]) -> None:
    for request in requests:
        request.resolve()
