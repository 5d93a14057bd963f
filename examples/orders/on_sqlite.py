"""Orders in one file and jobs in another, with nothing installed.

Two files can't commit together. So the order comes first, and its job is submitted right after; should the process die
in between, the order says by itself that nobody has charged it yet, and its job is submitted when that is noticed.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from examples.orders.database import SCHEMA, OrderTask, once
from mainspring import Context

T = TypeVar("T")


class SqliteTransaction:
    """A transaction, and the jobs that wait for its end."""

    def __init__(self, fetch: Callable[..., Any]) -> None:
        self._fetch = fetch
        self.jobs: list[tuple[OrderTask, str]] = []

    async def fetch(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Execute one statement and return its rows."""
        rows: Sequence[Sequence[Any]] = await self._fetch(statement, *values)
        return rows

    async def add_job(self, task: OrderTask, order_id: str) -> None:
        """Remember the job for the time after the commit."""
        self.jobs.append((task, order_id))


class SqliteDatabase:
    """A file in *folder*, and beside it the one that Mainspring keeps."""

    away: tuple[type[Exception], ...] = (sqlite3.OperationalError, TimeoutError)
    forgets_jobs = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"sqlite:///{folder / 'mainspring.db'}"
        # One thread, so that a statement never meets the rollback of the transaction before it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="orders")
        self._turn = asyncio.Lock()
        self._connection: sqlite3.Connection | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Create what isn't there yet, and be usable inside the block."""
        self._connection = await self._call(self._prepared)
        try:
            yield
        finally:
            await self._call(self._connection.close)
            self._thread.shutdown()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqliteTransaction]:
        """Commit when the block ends and submit its jobs, or roll back if it raises."""
        transaction = SqliteTransaction(self._fetch)
        async with self._turn:
            try:
                await self._fetch("BEGIN IMMEDIATE")
                yield transaction
                await self._fetch("COMMIT")
            except BaseException:
                await self._call(self._open().rollback)
                raise
        for task, order_id in transaction.jobs:
            await once(task, order_id).submit(order_id)

    def effect(self, context: Context) -> AbstractAsyncContextManager[SqliteTransaction]:
        """A transaction like any other: what it does must be harmless if *context*'s run is repeated."""
        del context
        return self.transaction()

    async def _fetch(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        numbered = {str(number): value for number, value in enumerate(values, start=1)}
        return await self._call(lambda: self._open().execute(statement, numbered).fetchall())

    async def _call(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RuntimeError("the database isn't open")
        return self._connection

    def _prepared(self) -> sqlite3.Connection:
        self._folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._folder / "orders.db", isolation_level=None, timeout=30)
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")
        connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA}; COMMIT")
        return connection
