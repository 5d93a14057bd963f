"""What the harness asks of a contender, in one small file each under `benchmarks/contenders/`.

A contender module sets `CONTENDER` to a class that fulfils `Contender` and ends with `serve(CONTENDER())` under its
`__main__` guard. An instance lives in one child process and is opened once. `description`, `waiting` and
`recorded` are also used by the harness itself, without `open`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One call of `benchmarks.hits.hit(number)`, at once or at *due_at*; the number is payload, not identity."""

    number: int
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What stands beside a contender's figures, so that they can be judged."""

    title: str
    settings: str
    keeps: str
    loses: str


class Contender(Protocol):
    @property
    def description(self) -> Description: ...

    @property
    def adds_only_in_worker(self) -> bool:
        """Whether a running worker stays unaware of what other processes add."""
        ...

    def open(self, folder: Path) -> None:
        """Connect to the durable store in *folder*, creating it when it is missing."""
        ...

    def work(self) -> None:
        """Start executing in the background of this process, and return."""
        ...

    def add(self, job: Job) -> None:
        """Return once *job* is durably stored."""
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

    def waiting(self, folder: Path) -> int:
        """How many jobs the store in *folder* still holds, due or not."""
        ...

    def recorded(self, folder: Path) -> frozenset[int] | None:
        """Numbers that dead workers had journalled as finished; None where there is no journal."""
        ...
