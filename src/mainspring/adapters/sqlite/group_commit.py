"""Several operations in one transaction: a commit costs an fsync, however many share it.

Each of several runs in a savepoint: one that fails takes back its own changes only.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import apsw

from mainspring.adapters.sqlite.connection import translation
from mainspring.adapters.sqlite.engine import Operation, Transaction, WallClock
from mainspring.adapters.sqlite.rows import to_micros

_FAULT_OF_THE_OPERATION = (apsw.ConstraintError, apsw.SQLError, apsw.MismatchError, apsw.TooBigError)


@dataclass(slots=True)
class Request:
    """An operation, and whoever waits for what comes of it."""

    operation: Operation[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        """Tell them, in their loop."""
        if self.future.done():  # whoever asked was cancelled; what was stored stays stored
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def commit_group(connection: apsw.Connection, path: str, clock: WallClock, group: list[Request]) -> None:
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


def _run_in_savepoint(transaction: Transaction, request: Request) -> None:
    transaction.execute("SAVEPOINT request")
    _run(transaction, request)
    if request.error is not None:
        transaction.execute("ROLLBACK TO request")
    transaction.execute("RELEASE request")


def _run(transaction: Transaction, request: Request) -> None:
    try:
        request.result = request.operation(transaction)
    except Exception as error:
        if isinstance(error, apsw.Error) and not isinstance(error, _FAULT_OF_THE_OPERATION):
            raise  # the file itself has a problem: the whole group must learn of it
        request.error = error
