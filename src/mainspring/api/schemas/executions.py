"""Executions and their attempts."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mainspring.api.schemas.base import Identity, Instant, Page, Shape


class Execution(Shape):
    """One run of a job."""

    id: Identity
    job_id: Identity
    status: Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED"]
    reason: str | None
    retry_of: Identity | None
    fire_time: Instant
    skipped_to: Annotated[
        Instant | None, Field(description="The last fire time of a skipped range, of which `fire_time` is the first.")
    ]
    skipped_count: Annotated[
        int | None, Field(description="How many fire times a skipped range has; null for more than 100.")
    ]
    attempt: Annotated[int, Field(description="0 before the first start, 1 during it.")]
    token: Annotated[int, Field(description="Grows with every hand-over to a worker.")]
    priority: int
    worker_id: str | None
    scheduled_at: Instant
    started_at: Instant | None
    completed_at: Instant | None
    duration_ms: int | None
    result: Annotated[Any, Field(description="What the handler returned; left to the single execution if long.")]
    output: Annotated[str | None, Field(description="What it printed; shown for a single execution only.")]
    error: str | None


class ExecutionList(Page[Execution]):
    """A page of executions."""


class Attempt(Shape):
    """One hand-over of an execution to a worker."""

    attempt: int
    token: int
    worker_id: str | None
    started_at: Instant
    completed_at: Instant | None
    duration_ms: int | None
    outcome: Literal["running", "succeeded", "failed", "snoozed", "lost", "cancelled"]
    error: str | None


class AttemptList(Page[Attempt]):
    """An execution's attempts, oldest first; of many, the latest ten or so."""


class Durations(Shape):
    """How long attempts took."""

    mean: float | None
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None


class Statistics(Shape):
    """What became of the executions that were due within a window."""

    window: str
    since: Instant
    until: Instant
    complete: Annotated[bool, Field(description="False if there were too many: *since* is then what was covered.")]
    executions: int
    by_status: dict[str, int]
    success_rate: Annotated[float | None, Field(description="Completed, of those that completed or failed.")]
    retried: Annotated[int, Field(description="Executions that needed more than one attempt.")]
    duration_ms: Durations


class Spread(Shape):
    """The middle, and what nearly all stay below."""

    p50: int | None
    p95: int | None


class Step(Shape):
    """What ended in one step of a window, and how much waited."""

    at: Annotated[Instant, Field(description="When the step begins.")]
    waiting: Annotated[int, Field(description="Those that were due at the step's end, and hadn't begun.")]
    by_status: dict[str, int]
    lateness_ms: Annotated[Spread, Field(description="From the fire time to the first attempt's start.")]
    duration_ms: Annotated[Spread, Field(description="Of the last attempt.")]


class Timeline(Shape):
    """A window in equal steps, oldest first; each execution stands where it ended."""

    window: str
    since: Instant
    until: Instant
    complete: Annotated[bool, Field(description="False if there were too many: *since* is then what was covered.")]
    step_ms: int
    items: list[Step]
