"""Jobs."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from mainspring.api.requests import DaylightSavingRequest, JobRequest, Label, MisfireRequest, RetryRequest, Strict
from mainspring.api.schemas.base import Identity, Instant, Page, Shape

MAX_BATCH = 10_000
FIXED = ("id", "key", "owner", "status", "next_run_time", "created_at", "updated_at", "version")
"""Fields that a job keeps."""


class Job(Shape):
    """A job with its current run's state."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "01985c5e-7a53-7cc1-8f2b-3c1d5e9a0b47",
                "key": "report-2030",
                "name": "report",
                "description": "",
                "handler": "http.webhook",
                "payload": {"url": "https://example.com/report"},
                "schedule": "0 6 * * 1-5",
                "timezone": "Europe/Berlin",
                "starts_at": None,
                "priority": 50,
                "max_retries": 3,
                "retry": {"kind": "exponential", "initial_ms": 1000, "max_ms": 60000, "jitter": 0.0},
                "timeout_ms": 300000,
                "lane": "default",
                "misfire": {"grace_ms": 60000, "policy": "latest"},
                "overlap": "allow",
                "dst": {"gap": "next_valid", "fold": "first"},
                "allow_unknown_handler": False,
                "owner": "default",
                "project_id": "default",
                "status": "SCHEDULED",
                "next_run_time": "2030-01-31T05:00:00Z",
                "created_at": "2030-01-30T12:00:00Z",
                "updated_at": "2030-01-30T12:00:00Z",
                "version": 1,
            }
        }
    )

    id: Identity
    key: str | None
    name: str
    description: str
    handler: str
    payload: Annotated[Any, Field(description="As it was sent, byte for byte; left out of lists if it is long.")] = None
    schedule: str
    timezone: str
    starts_at: Instant | None
    priority: int
    max_retries: int
    retry: RetryRequest
    timeout_ms: int
    lane: str
    misfire: MisfireRequest
    overlap: str
    dst: DaylightSavingRequest
    allow_unknown_handler: bool
    owner: str
    project_id: str
    status: Literal["SCHEDULED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "PAUSED"]
    next_run_time: Instant | None
    created_at: Instant
    updated_at: Instant
    version: int


class JobList(Page[Job]):
    """A page of jobs."""


class Batch(Strict):
    """Jobs to be stored together or not at all."""

    jobs: Annotated[list[JobRequest], Field(max_length=MAX_BATCH)]


class BatchAnswer(Shape):
    """The jobs of a batch, in its order."""

    items: list[Job]
    existing: Annotated[
        list[int], Field(description="Which of them, counted from 0, aren't new: their keys came before.")
    ]


def _as_an_update(schema: dict[str, Any]) -> None:
    """Nothing is required, nothing has a default, and what can't be changed isn't there."""
    schema.pop("required", None)
    schema["properties"] = {
        name: {word: value for word, value in described.items() if word != "default"}
        for name, described in schema["properties"].items()
        if name not in FIXED
    }
    schema["example"] = {"priority": 90, "retry": {"kind": "fixed"}}


class JobUpdate(JobRequest):
    """What to change; fields that are left out stay as they are."""

    model_config = ConfigDict(json_schema_extra=_as_an_update)

    handler: Label = ""
