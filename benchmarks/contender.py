"""What the harness asks of a contender, in one small file each under `benchmarks/contenders/`.

A contender module sets `CONTENDER` to a class that fulfils `Contender`, which the harness uses from outside. What
happens inside a child process is a `Performer`: for contenders in Python the same class, whose module ends with
`serve(CONTENDER())` under its `__main__` guard; for others a program of their own that obeys the same commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable


class Server(StrEnum):
    """What has to run beside a contender's own processes."""

    POSTGRESQL = "postgresql"
    VALKEY = "valkey"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One call of `benchmarks.hits.hit(number)`, at once or at *due_at*; the number is payload, not identity."""

    number: int
    due_at: datetime | None = None
    priority: int = 0
    """0 to 9, the higher the sooner; contenders without priorities pass over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a contender keeps what it keeps: a folder of its own, and a fresh database where it needs a server."""

    folder: Path
    url: str = ""
    process: int = 0
    """Which of several processes on this place it is: names that must differ follow from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What stands beside a contender's figures, so that they can be judged."""

    title: str
    settings: str
    keeps: str
    loses: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the harness must know to treat a contender fairly."""

    server: Server | None = None
    adds_only_in_worker: bool = False
    """A running worker stays unaware of what other processes add."""
    several_workers: bool = True
    """More than one process may execute from one store."""
    most_jobs: int | None = None
    """With more than these, a measure of a slow contender takes minutes and says no more."""
    most_backlog: int | None = None
    """The largest number of waiting jobs that it survives."""
    starts_program: bool = False
    """Work is done by a program that is started for it: what starting takes isn't charged to the jobs."""
    program: tuple[str, ...] = ()
    """The command that performs, where that isn't the contender's own module; it gets the same arguments."""


class Contender(Protocol):
    @property
    def description(self) -> Description: ...

    @property
    def traits(self) -> Traits: ...

    def unavailable(self) -> str:
        """Why it can't take part on this machine; empty if it can."""
        ...

    def waiting(self, place: Place) -> int:
        """How many jobs the store still holds, due or not."""
        ...

    def recorded(self, place: Place) -> frozenset[int] | None:
        """Numbers that dead workers had journalled as finished; None where there is no journal."""
        ...


class Performer(Protocol):
    """A contender inside one child process, opened once."""

    def open(self, place: Place) -> None:
        """Connect to the durable store at *place*, creating it when it is missing."""
        ...

    def work(self) -> None:
        """Start executing in the background of this process, and return."""
        ...

    def add(self, job: Job) -> int | None:
        """Return once *job* is durably stored: with the moment of its own call, if that is made in another thread."""
        ...

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        """Add *jobs* by one call each, from *callers* concurrent callers."""
        ...

    def add_all(self, jobs: Sequence[Job]) -> None:
        """Add *jobs* the fastest durable way that the interface offers."""
        ...

    def close(self) -> None:
        """Stop executing and disconnect."""
        ...


@runtime_checkable
class KeepsHistory(Protocol):
    """A contender that remembers jobs after they ended."""

    def fill_history(self, place: Place, count: int) -> None:
        """Make the store remember *count* more ended jobs; at least one was executed on it before."""
        ...


@runtime_checkable
class HoldsSessions(Protocol):
    """A performer whose workers announce themselves to the store from time to time."""

    def hold_sessions(self, count: int) -> None:
        """Keep as many sessions alive as *count* idle workers would, in the background of this process."""
        ...
