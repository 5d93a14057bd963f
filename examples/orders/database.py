"""What the service asks of a database; PostgreSQL and SQLite are beside it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from mainspring import Context
from mainspring.application import Task

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")

OrderTask: TypeAlias = Task[[str], Any, Any]
"""A task about one order, which it is given by its id."""


def once(task: OrderTask, order_id: str) -> OrderTask:
    """The task under a key of the order's: adding it twice is adding it once."""
    return task.using(key=f"{task.name}/{order_id}")


class Transaction(Protocol):
    """Statements that hold together, or not at all."""

    async def fetch(self, statement: str, *values: Any) -> Sequence[Sequence[Any]]:
        """Execute one statement, in which $1 stands for the first of *values*, and return its rows."""
        ...

    async def add_job(self, task: OrderTask, order_id: str) -> None:
        """Let a worker call *task* about the order once the transaction has committed, and never if it doesn't."""
        ...


class Database(Protocol):
    """Five tables and the jobs that go with them."""

    url: str
    """Where Mainspring keeps its jobs."""
    away: tuple[type[Exception], ...]
    """What a transaction raises while the database can't be reached."""
    forgets_jobs: bool
    """Whether a crash right after a commit may cost the transaction's jobs, so that somebody has to look for them."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Create what isn't there yet, and be usable inside the block."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Commit when the block ends, and roll back if it raises."""
        ...

    def effect(self, context: Context) -> AbstractAsyncContextManager[Transaction]:
        """A transaction for what a run changes: with its outcome in it, if the database has both."""
        ...
