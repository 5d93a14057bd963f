"""What the server answers, as frozen values. Fields that a newer server adds are passed over."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When a failed attempt is tried again: after `initial`, doubled each time up to `max` unless `kind` is fixed."""

    kind: str = "exponential"
    initial: timedelta = timedelta(seconds=1)
    max: timedelta = timedelta(seconds=60)
    jitter: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfire:
    """What happens to moments that were missed by more than `grace`: the `latest`, `all` or `none` of them fire."""

    grace: timedelta = timedelta(seconds=60)
    policy: str = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class DaylightSaving:
    """What happens to local times that don't exist (`gap`: next_valid, skip) or exist twice (`fold`: first, both)."""

    gap: str = "next_valid"
    fold: str = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job; `payload` is None in lists where it is too long to be shown."""

    id: UUID
    key: str | None = None
    name: str
    description: str
    handler: str
    payload: Any = None
    schedule: str
    timezone: str
    starts_at: datetime | None = None
    priority: int
    max_retries: int
    retry: Retry
    timeout: timedelta
    lane: str
    misfire: Misfire
    overlap: str
    dst: DaylightSaving
    allow_unknown_handler: bool
    owner: str
    project_id: str
    status: str
    next_run_time: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run of a job."""

    id: UUID
    job_id: UUID
    status: str
    reason: str | None = None
    retry_of: UUID | None = None
    fire_time: datetime
    skipped_to: datetime | None = None
    """The last fire time of a skipped range, of which *fire_time* is the first."""
    skipped_count: int | None = None
    """How many fire times a skipped range has; None for more than 100."""
    attempt: int
    token: int | None = None
    priority: int
    worker_id: str | None = None
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    duration: timedelta | None = None
    result: Any = None
    output: str | None = None
    error: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status not in ("PENDING", "RUNNING")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of an execution."""

    attempt: int
    token: int
    worker_id: str | None = None
    started_at: datetime
    completed_at: datetime | None = None
    duration: timedelta | None = None
    outcome: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An execution that has failed for good and waits for somebody's decision."""

    execution: Execution
    handler: str
    fingerprint: str
    """Equal for failures that look alike."""
    died_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeued:
    """What became of dead letters that fitted; `more` if others fit beyond the limit."""

    requeued: int
    items: tuple[Execution, ...]
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A live worker."""

    id: str
    status: str
    """`active`, `draining` while something is left in its hands that must end, then `drained`."""
    host: str
    pid: int
    capacity: int
    executing: int
    lanes: tuple[str, ...]
    started_at: datetime
    last_heartbeat: datetime
    clock_skew: timedelta
    trouble: str | None = None
    """What its process lacks, in one sentence, while that keeps it from its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLock:
    """A lock as it is held; give `token` to the resource, which must refuse smaller ones."""

    name: str
    holder: str
    token: int
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change, as the server tells it; `id` is where to go on after it."""

    id: str
    type: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Something that somebody changed: what it was before, and what it is after."""

    number: int
    at: datetime
    actor: str
    owner: str
    action: str
    subject: str
    job_id: UUID | None = None
    before: Any = None
    after: Any = None
    digest: str | None = None
    """Chains the entry to the one before; None until it was chained."""
