"""What the model remembers, and the few changes that several verbs share."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any
from uuid import UUID

from mainspring.domain.ids import BlobId, Fence, JobId, Lane, RunId, SessionId, Version, fired_run_id
from mainspring.domain.job import Job
from mainspring.domain.plan import Skip
from mainspring.domain.run import NewRun, Origin, Run, State
from mainspring.ports.audit import Entry, Recorded
from mainspring.ports.keys import ApiKey
from mainspring.ports.output import Printed
from mainspring.ports.sessions import Member, NewSession
from mainspring.ports.time import Clock
from mainspring.ports.views import DeadLetter

TallyKey = tuple[str, Lane, Origin]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What an idempotency key stands for."""

    id: UUID
    body: bytes
    at: datetime


@dataclass(slots=True, kw_only=True)
class Session:
    """A session; once *expires_at* has passed, whoever looks first may bury it."""

    new: NewSession
    member: Member
    expires_at: datetime
    ended: bool = False
    held: int = 0
    """How many runs it held when it ended."""


@dataclass(slots=True, kw_only=True)
class Lease:
    """A lock's row, which is never removed: its fence must not start again."""

    holder: str
    fence: Fence
    expires_at: datetime
    released: bool = True
    """Whether it was given up, or never held."""


@dataclass(slots=True, kw_only=True)
class Tables:
    """Everything stored."""

    clock: Clock
    keeps_wake_times: bool = False
    """Whether a run whose ticket is out shows since when it waits; stores that don't count its wait from the grace."""
    jobs: dict[JobId, Job] = field(default_factory=dict)
    runs: dict[RunId, Run] = field(default_factory=dict)
    holders: dict[RunId, SessionId] = field(default_factory=dict)
    """Of runs that run."""
    held_until: dict[RunId, datetime] = field(default_factory=dict)
    """When runs that are held would have woken."""
    settled: dict[RunId, Fence] = field(default_factory=dict)
    """The hand-over that put a waiting run back, so that a repeat can be told from a result that comes too late."""
    tickets: dict[RunId, tuple[Fence, datetime]] = field(default_factory=dict)
    """The fence under which a ticket of a run was taken last, and until when claims pass over the run."""
    origins: dict[RunId, Origin] = field(default_factory=dict)
    accepted: dict[tuple[str, str], Accepted] = field(default_factory=dict)
    dead: dict[RunId, DeadLetter] = field(default_factory=dict)
    hidden: set[RunId] = field(default_factory=set)
    sessions: dict[SessionId, Session] = field(default_factory=dict)
    session_ids: Iterator[int] = field(default_factory=lambda: count(1))
    """Never the same twice, not even once a session is forgotten."""
    handlers: dict[str, Lane] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    blobs: dict[BlobId, tuple[bytes, datetime]] = field(default_factory=dict)
    audit: list[Recorded] = field(default_factory=list)
    api_keys: dict[UUID, ApiKey] = field(default_factory=dict)
    output: dict[RunId, dict[Fence, Printed]] = field(default_factory=dict)
    tallies: list[tuple[TallyKey, str, int]] = field(default_factory=list)
    totals: Counter[tuple[TallyKey, str]] = field(default_factory=Counter)
    changed: list[UUID] = field(default_factory=list)
    """Jobs and runs in the order of their changes, for whoever follows them."""

    def now(self) -> datetime:
        """The store's clock."""
        return self.clock.now()

    def record(self, entries: Sequence[Entry]) -> None:
        """Append to the audit."""
        for entry in entries:
            self.audit.append(Recorded(number=len(self.audit) + 1, at=self.now(), entry=entry, digest=None))

    def claimable_at(self, run: Run) -> datetime | None:
        """When claims may have a run that waits; None while it is held."""
        fence, until = self.tickets.get(run.id, (None, None))
        return until if fence == run.fence and run.wake_at is not None else run.wake_at

    def waits_since(self, run: Run) -> datetime | None:
        """From when a claim counts how long a run has waited."""
        return run.wake_at if self.keeps_wake_times else self.claimable_at(run)

    def change(self, run: Run, **fields: Any) -> Run:
        """Replace fields of a run's row."""
        changed = replace(run, **fields)
        self.runs[run.id] = changed
        return changed

    def live(self) -> Iterator[Run]:
        """Runs that haven't ended."""
        return (run for run in self.runs.values() if not run.state.terminal)

    def count(self, run: Run, what: str, by: int = 1) -> None:
        """Append to the tallies of the run's kind."""
        self.tallies.append((self.key_of(run), what, by))

    def key_of(self, run: Run) -> TallyKey:
        """The tally that counts the run."""
        return run.owner, run.task.lane, self.origins[run.id]

    def create(self, new: NewRun) -> None:
        """Store a run that nobody stored before."""
        now = self.now()
        due_at = new.due if isinstance(new.due, datetime) else now + new.due
        run = _waiting(new, created_at=now, due_at=due_at)
        self.runs[run.id] = run
        self.origins[run.id] = self._origin(run)
        self.changed.append(run.id)
        self.count(run, "added")

    def _origin(self, run: Run) -> Origin:
        if run.job_id in self.jobs:
            return Origin.RECURRING
        return Origin.IMMEDIATE if run.due_at <= run.created_at else Origin.DELAYED

    def cancel(self, run: Run, reason: str) -> Run:
        """End a run that waits, flag one that runs, leave an ended one alone."""
        if run.state is State.RUNNING:
            return self.change(run, cancelling=True, reason=reason)
        if run.state is State.WAITING:
            return self.end(self.change(run, fence=Fence(run.fence + 1)), State.CANCELLED, reason=reason)
        return run

    def end(self, run: Run, state: State, **fields: Any) -> Run:
        """Bring a run to a terminal state."""
        self.holders.pop(run.id, None)
        ended = self.change(run, state=state, wake_at=None, finished_at=self.now(), cancelling=False, **fields)
        self.changed.append(run.id)
        self.count(ended, f"ended {state}")
        return ended

    def skip(self, job: Job, skip: Skip) -> None:
        """Record moments that got no run, as one row under the id that the first of them has."""
        identity = fired_run_id(job.id, skip.first)
        if identity in self.runs:
            return
        new = NewRun(
            id=identity,
            job_id=job.id,
            task=job.task,
            due=skip.first,
            owner=job.owner,
            project=job.project,
            name=job.name,
        )
        now = self.now()
        run = replace(
            _waiting(new, created_at=now, due_at=skip.first),
            state=State.SKIPPED,
            wake_at=None,
            finished_at=now,
            reason=skip.reason.value,
            skipped_to=skip.last,
            skipped_count=skip.count,
        )
        self.runs[identity] = run
        self.changed.append(identity)
        self.origins[identity] = Origin.RECURRING
        self.count(run, f"ended {State.SKIPPED}", 1 if skip.count is None else skip.count)


def _waiting(new: NewRun, *, created_at: datetime, due_at: datetime) -> Run:
    return Run(
        id=new.id,
        job_id=new.job_id,
        origin=new.origin,
        owner=new.owner,
        project=new.project,
        name=new.name,
        key=new.key.text if new.key else None,
        spec=new.spec,
        task=new.task,
        state=State.WAITING,
        created_at=created_at,
        version=Version(1),
        due_at=due_at,
        wake_at=due_at,
        fence=Fence(0),
        attempt=0,
        failures=0,
        losses=0,
        worker=None,
        started_at=None,
        finished_at=None,
        cancelling=False,
        result=None,
        result_blob=None,
        error=None,
        reason=None,
        skipped_to=None,
        skipped_count=None,
        log=b"",
    )
