"""What runs operations against the file: in the calling thread for the simulation, in threads for everybody else.

Statements take and return whole batches as JSON (one step each): every step gives up the interpreter's lock, and
getting it back from a busy event loop can take milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

import apsw

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


class Engine(Protocol):
    """Runs operations against the file."""

    schema: int
    identity: str

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
