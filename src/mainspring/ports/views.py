"""What people see. Pages are cut by key, newest first: no offsets, no totals, no scan over history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.job import Job, JobState
from mainspring.domain.run import Origin, Run, State

MAX_EXAMINED = 10_000
"""A page looks at no more rows than this; it may be short, or empty, with `next` set."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page begins: after *before* (None: at the newest), with at most *limit* items."""

    before: UUID | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some items, and where the next page begins (None: there is no more)."""

    items: Sequence[T]
    next: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job with its current run or else its latest. One-shot jobs have `job.id == run.id`."""

    job: Job
    run: Run | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs; None means any."""

    owner: str | None = None
    project: str | None = None
    name: str | None = None
    handler: str | None = None
    key: str | None = None
    states: frozenset[JobState] | None = None
    """Of standing jobs; a one-shot is ACTIVE, or PAUSED while it is held."""
    run_states: frozenset[State] | None = None
    """Of the run that the job shows."""
    text: str | None = None
    """Contained in the name, the handler or the key."""
    standing: bool = False
    """Only those that recur or run on demand: one-shots aren't even looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs; None means any."""

    owner: str | None = None
    job_id: JobId | None = None
    states: frozenset[State] | None = None
    worker: str | None = None
    handler: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters; None means any."""

    owner: str | None = None
    job_id: JobId | None = None
    handler: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A run whose budget is used up, as long as nobody has requeued or discarded it."""

    run: Run
    fingerprint: str
    died_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Totals of one (owner, lane, origin) since the store began."""

    owner: str
    lane: Lane
    origin: Origin
    added: int = 0
    started: int = 0
    retried: int = 0
    lost: int = 0
    ended: Mapping[State, int] = field(default_factory=dict)
    """Runs that reached each terminal state; a skipped range counts its moments, or one if they weren't counted."""
    waits: Sequence[int] = ()
    """Starts by how late they were, in the buckets of `WAIT_BUCKETS` and one beyond."""
    waited: timedelta = timedelta(0)
    """How late all starts were together, each by `LONGEST_WAIT` at most; never more than `MOST_WAITED`."""
    running: int = 0
    """Runs that are in workers' hands now."""

    @property
    def live(self) -> int:
        """Runs that haven't ended."""
        return self.added - sum(count for state, count in self.ended.items() if state is not State.SKIPPED)


WAIT_BUCKETS = tuple(
    timedelta(seconds=seconds)
    for seconds in (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
)


LONGEST_WAIT = timedelta(weeks=1)
"""How late a start counts at most. It is late since the run could start and was there: not since a time before that."""

MOST_WAITED = timedelta(microseconds=2**63 - 1)
"""Sums stay there: counting never fails what is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Exact statistics, read without counting rows but for those that run right now."""

    tallies: Sequence[Tally]
    dead_letters: int

    @property
    def running(self) -> int:
        """Runs that are in workers' hands now."""
        return sum(tally.running for tally in self.tallies)


class Views(Protocol):
    """Reads only, each of one consistent moment."""

    async def job(self, job_id: JobId) -> JobRecord | None:
        """A job by id, deleted and hidden ones excepted."""
        ...

    async def jobs(self, where: JobFilter, page: Cursor) -> Page[JobRecord]:
        """Standing and one-shot jobs, newest first by creation."""
        ...

    async def run(self, run_id: RunId) -> Run | None:
        """A run by id, live or ended."""
        ...

    async def runs(self, where: RunFilter, page: Cursor) -> Page[Run]:
        """Runs, newest first by id: by fire time."""
        ...

    async def dead_letters(self, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
        """Unresolved dead letters, newest first by run id."""
        ...

    async def figures(self) -> Figures:
        """Totals for everything that ever happened, equal to what the rows say."""
        ...

    async def due(self, owner: str | None = None) -> int:
        """How many runs, of one *owner* or of all, could start now; what waits for later isn't looked at."""
        ...

    async def suspects(self) -> int:
        """How many runs, of all owners, could start now if a worker were emptied for them."""
        ...

    async def handlers(self) -> Mapping[str, Lane]:
        """Every handler that a worker ever served, with its lane."""
        ...

    async def keys_taken(self, owner: str, keys: Sequence[str]) -> frozenset[str]:
        """Which of *owner*'s idempotency keys stand for something: adding with one of them adds nothing."""
        ...

    async def now(self) -> datetime:
        """The store's clock, which decides what is due."""
        ...
