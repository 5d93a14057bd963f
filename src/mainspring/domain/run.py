"""Runs: their states, what hands them over and what is known about them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final

from mainspring.domain.hot import hot
from mainspring.domain.ids import (
    DEFAULT_OWNER,
    DEFAULT_PROJECT,
    BlobId,
    Fence,
    JobId,
    RunId,
    SessionId,
    Version,
)
from mainspring.domain.task import Task


class State(IntEnum):
    """Two live states and four terminal ones; the numbers are what stores keep."""

    WAITING = 0
    RUNNING = 1
    SUCCEEDED = 2
    DEAD = 3
    CANCELLED = 4
    SKIPPED = 5

    @property
    def terminal(self) -> bool:
        """Whether nothing can change any more."""
        return not TRANSITIONS[self]


# The one table that decides which changes of state exist. A waiting run can end without running again: its last
# holder was taken for dead, the run was put back under the same fence, and then the late result arrived after all.
TRANSITIONS: Final = MappingProxyType(
    {
        State.WAITING: frozenset({State.WAITING, State.RUNNING, State.SUCCEEDED, State.DEAD, State.CANCELLED}),
        State.RUNNING: frozenset({State.WAITING, State.SUCCEEDED, State.DEAD, State.CANCELLED}),
        State.SUCCEEDED: frozenset[State](),
        State.DEAD: frozenset[State](),
        State.CANCELLED: frozenset[State](),
        State.SKIPPED: frozenset[State](),
    }
)


class Origin(IntEnum):
    """Where a run came from, as statistics name it; the numbers are what stores keep."""

    IMMEDIATE = 0
    DELAYED = 1
    RECURRING = 2


class Label(StrEnum):
    """What a run's state is called for display; computed, never stored."""

    SCHEDULED = "scheduled"
    READY = "ready"
    PAUSED = "paused"
    RETRYING = "retrying"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A client's idempotency key, unique per owner, with a hash of the body that it stands for."""

    text: str
    body: bytes

    @classmethod
    def apart(cls, purpose: str, key: str, body: bytes) -> "Key":
        """A client's *key* that stands for something else than a job: no client's key has the character between."""
        return cls(text=f"{purpose}\x1f{key}", body=body)


@hot
class NewRun:
    """A run to be stored. With `id == job_id` it is a one-shot job: the same row is the job and its first run."""

    id: RunId
    job_id: JobId
    task: Task
    due: datetime | timedelta = timedelta(0)
    """An instant, or a duration from the store's own now."""
    origin: RunId | None = None
    """The run that this one retries."""
    owner: str = DEFAULT_OWNER
    project: str = DEFAULT_PROJECT
    key: Key | None = None
    name: str = ""
    spec: bytes | None = None
    """The remaining fields of a one-shot job as JSON text; None unless any was used."""

    @property
    def one_shot(self) -> bool:
        """Whether this run is a job of its own."""
        return self.id.int == self.job_id.int


@hot
class Attempt:
    """A run in a worker's hands, complete: enough to execute it and to judge what came of it."""

    run_id: RunId
    job_id: JobId
    session: SessionId
    fence: Fence
    attempt: int
    failures: int
    losses: int
    due_at: datetime
    started_at: datetime
    owner: str
    project: str
    task: Task
    worker: str = ""
    """The name of whoever holds it."""
    log: bytes = b""
    """Earlier attempts as JSON, empty before the first has ended."""
    cancelling: bool = False
    suspect: bool = False
    """Whether it must run alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All that is known about a run, live or ended."""

    id: RunId
    job_id: JobId
    origin: RunId | None
    owner: str
    project: str
    name: str
    key: str | None
    spec: bytes | None
    task: Task
    state: State
    created_at: datetime
    version: Version
    due_at: datetime
    wake_at: datetime | None
    """When somebody must look again; None for a held run and for ended ones."""
    fence: Fence
    attempt: int
    failures: int
    losses: int
    worker: str | None
    started_at: datetime | None
    finished_at: datetime | None
    cancelling: bool
    result: bytes | None
    result_blob: BlobId | None
    error: str | None
    reason: str | None
    skipped_to: datetime | None
    skipped_count: int | None
    log: bytes
    suspect: bool = False
    """Whether it must run alone, or had to when it ended."""

    @property
    def one_shot(self) -> bool:
        """Whether this run is a job of its own."""
        return self.id.int == self.job_id.int

    def label(self, now: datetime) -> Label:
        """What to call this run at *now*."""
        if self.state is State.RUNNING:
            return Label.CANCELLING if self.cancelling else Label.RUNNING
        if self.state is not State.WAITING:
            return Label[self.state.name]
        if self.wake_at is None:
            return Label.PAUSED
        if self.attempt > 0:
            return Label.RETRYING
        return Label.READY if self.wake_at <= now else Label.SCHEDULED
