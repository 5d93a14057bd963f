"""What the dialects answer."""

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from mainspring.api.schemas.base import Identity, Instant, Shape
from mainspring.api.schemas.cluster import WorkerStatus

Status = Literal["pending", "running", "completed", "failed", "cancelled", "paused"]


class LabJob(Shape):
    """A job of the lab, with its current run or else its latest."""

    id: Identity
    job_id: Identity
    name: str
    job_type: Literal["immediate", "delayed", "recurring"]
    status: Status
    payload: Annotated[Any, Field(description="As it was sent.")]
    schedule: str
    scheduled_at: Instant | None
    started_at: Instant | None
    completed_at: Instant | None
    worker_id: str | None
    attempt: Annotated[int, Field(description="0 before the first start, 1 during the first attempt.")]
    error_message: str | None


class LabRun(Shape):
    """A run that was asked for."""

    job_id: Identity
    run_id: Identity


class JobsByStatus(Shape):
    """How many jobs are in each state."""

    pending: int
    running: int
    completed: int
    failed: int
    cancelled: int
    paused: int


class LabStats(Shape):
    """What goes on."""

    queue_length: Annotated[int, Field(description="What is due and hasn't started.")]
    active_workers: int
    jobs_by_status: JobsByStatus


class LabWorker(Shape):
    """A live worker."""

    worker_id: str
    id: str
    status: WorkerStatus
    last_heartbeat: Instant
    current_jobs: int
    capacity: int


class LabWorkers(RootModel[list[LabWorker]]):
    """All live workers, by name."""


class SubmittedJob(Shape):
    """That a job is stored."""

    job_id: Identity
    status: Literal["Submitted"]
    message: Literal["Job submitted successfully"]


class UserRun(Shape):
    """A run of a user's job."""

    run_id: Identity
    status: Status
    triggered_at: Instant
    completed_at: Instant | None
    output: str | None
    worker_id: str | None
    error_message: str | None


class ListedJob(Shape):
    """A user's job in a list."""

    job_id: Identity
    user_id: str
    project_id: str
    payload: Annotated[Any, Field(description="As it was sent; left out of lists if it is long.")] = None
    cron_schedule: str | None
    next_fire_at: Instant | None
    status: Status
    created_at: Instant
    max_retries: int


class UserJob(ListedJob):
    """A user's job with its latest runs."""

    runs: Annotated[list[UserRun], Field(description="At most ten, newest first.")]


class UserJobs(RootModel[list[ListedJob]]):
    """A user's jobs, newest first; the header `Link` leads to the next page."""
