"""What `POST /jobs` takes, and the native job that it means.

With `job_type`, or without anything that says when, it is a job to play with: simulated work that may fail. With
`schedule` alone it is a job to run on demand or by that schedule. In both, a `handler` may be named.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from mainspring.api.dialects.defaults import Defaults
from mainspring.api.dialects.door import RECURS, check_schedule
from mainspring.api.document import Raw
from mainspring.api.representation import milliseconds
from mainspring.api.requests import DAY_MS, InvalidFields, Label, Line, Strict, When
from mainspring.domain.retry import MAX_RETRIES
from mainspring.domain.schedule import Recurring

SIMULATE, ECHO = "lab.simulate", "test.echo"
RETRIES = 3
FIRST_BACKOFF_MS = 2000
"""Two to the power of the attempt, in seconds: the first one is attempt 1."""
LONGEST_BACKOFF_MS = 60_000
_CENTURY = 36_525 * 86_400
_WEEK = 7 * 86_400

JobType = Literal["immediate", "delayed", "recurring"]
_CRONS = ("cron_expression", "cron", "cron_schedule")
_SIMULATED = {"execution_time_ms": 1000, "fail_rate": 0}
_LAB_RETRY = {"initial_ms": FIRST_BACKOFF_MS, "max_ms": LONGEST_BACKOFF_MS}


class LabRequest(Strict):
    """A job of the lab; every field is optional, and null is the same as none."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "my-first-job",
                "job_type": "immediate",
                "payload": {"action": "compute", "value": 42},
                "execution_time_ms": 2000,
            }
        }
    )

    name: Line | None = None
    job_type: Annotated[JobType | None, Field(description="`immediate`, unless other fields say more.")] = None
    payload: Any = None
    execution_time_ms: Annotated[int | None, Field(ge=0, le=7 * DAY_MS, description="1000 unless given.")] = None
    fail_rate: Annotated[float | None, Field(ge=0, le=1, description="0 unless given.")] = None
    max_retries: Annotated[int | None, Field(ge=0, le=MAX_RETRIES)] = None
    delay_seconds: Annotated[int | None, Field(ge=0, le=_CENTURY, description="How long a delayed job waits.")] = None
    cron_expression: Annotated[When | None, Field(description="When a recurring job runs.")] = None
    cron: Annotated[When | None, Field(description="The same.")] = None
    cron_schedule: Annotated[When | None, Field(description="The same.")] = None
    schedule: Annotated[
        When | None, Field(description="Without `job_type`: any schedule; `now` stores a job for `/jobs/{id}/run`.")
    ] = None
    max_duration_seconds: Annotated[float | None, Field(ge=0.001, le=_WEEK, description="Then it is stopped.")] = None
    handler: Label | None = None


def native_fields(request: LabRequest, payload: Raw, defaults: Defaults) -> dict[str, Any]:
    """The job as `/api/v1` would be sent it."""
    by_schedule = request.job_type is None and bool(request.schedule)
    schedule = _on_demand_or(request) if by_schedule else _by_type(request)
    retries, retry = _patience(defaults) if by_schedule else (RETRIES, _LAB_RETRY)
    fields: dict[str, Any] = {
        "name": request.name or "",
        "schedule": schedule,
        "max_retries": retries if request.max_retries is None else request.max_retries,
        "retry": retry,
        **_work(request, payload, ECHO if by_schedule else SIMULATE),
    }
    if request.max_duration_seconds is not None:
        fields["timeout_ms"] = milliseconds(timedelta(seconds=request.max_duration_seconds))
    return fields


def _patience(defaults: Defaults) -> tuple[int, dict[str, int]]:
    base, most = milliseconds(defaults.backoff_base), milliseconds(defaults.backoff_max)
    return defaults.max_attempts - 1, {"initial_ms": base, "max_ms": most}


def _on_demand_or(request: LabRequest) -> str:
    _refuse(request, *_CRONS, "delay_seconds", because="schedule says when already")
    schedule = request.schedule or ""
    return "on-demand" if schedule.strip().lower() == "now" else schedule


def _by_type(request: LabRequest) -> str:
    crons: dict[str, str] = {name: text for name in (*_CRONS, "schedule") if (text := getattr(request, name))}
    kind = request.job_type or ("recurring" if crons else "immediate" if request.delay_seconds is None else "delayed")
    if kind != "recurring":
        _refuse(request, *crons, because=f"a job that is {kind} doesn't recur")
    if kind != "delayed":
        _refuse(request, "delay_seconds", because=f"a job that is {kind} isn't delayed")
    if kind == "immediate":
        return "now"
    if kind == "delayed":
        if request.delay_seconds is None:
            raise InvalidFields({"delay_seconds": "a delayed job needs it"})
        return f"in {request.delay_seconds}s"
    if len(crons) != 1:
        raise InvalidFields({next(iter(crons), "cron_expression"): "a recurring job needs one cron expression"})
    [(field, schedule)] = crons.items()
    check_schedule(field, schedule, Recurring, RECURS)
    return schedule


def _work(request: LabRequest, payload: Raw, usual: str) -> Mapping[str, Any]:
    """The handler and what it is given."""
    asked = {name: value for name in _SIMULATED if (value := getattr(request, name)) is not None}
    handler = request.handler or (SIMULATE if asked else usual)
    if handler == SIMULATE:
        return {"handler": SIMULATE, "payload": {**_SIMULATED, **asked, "payload": payload}}
    _refuse(request, *asked, because=f"{handler} isn't simulated")
    return {"handler": handler, "payload": payload}


def _refuse(request: LabRequest, *names: str, because: str) -> None:
    faults = {name: f"leave it out: {because}" for name in names if getattr(request, name) not in (None, "")}
    if faults:
        raise InvalidFields(faults)
