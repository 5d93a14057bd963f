"""What `/submit` takes, and the native job that it means."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from mainspring.api.dialects.door import RECURS, check_schedule
from mainspring.api.requests import InvalidFields, Label, Strict, When
from mainspring.domain.retry import MAX_RETRIES
from mainspring.domain.schedule import At, Recurring

COMMAND = "cmd:"
SCRIPT, ECHO = "shell.script", "test.echo"


class SubmitRequest(Strict):
    """A job of a user; an empty text is the same as none."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"project_id": "demo-project", "payload": "Hello, Distributed Scheduler!", "max_retries": 3}
        }
    )

    project_id: Label
    payload: Annotated[str, Field(description="Any text; after `cmd:` it is a script for the shell.")]
    cron_schedule: When | None = None
    next_fire_at: Annotated[
        When | None, Field(description="An RFC 3339 instant: when it runs, or when its cron schedule begins.")
    ] = None
    max_retries: Annotated[int | None, Field(ge=0, le=MAX_RETRIES, description="3 unless given.")] = None

    @property
    def recurs_from_a_start(self) -> bool:
        """Whether it first fires at a given instant, and by its schedule from then on."""
        return bool(self.cron_schedule and self.next_fire_at)


def native_fields(request: SubmitRequest) -> dict[str, Any]:
    """The job as `/api/v1` would be sent it."""
    fields: dict[str, Any] = {"project_id": request.project_id, **_work(request.payload)}
    if request.max_retries is not None:
        fields["max_retries"] = request.max_retries
    if request.next_fire_at:
        check_schedule("next_fire_at", request.next_fire_at, At, "must be an instant like 2030-01-31T09:00:00Z")
        fields["starts_at" if request.cron_schedule else "schedule"] = request.next_fire_at
    if request.cron_schedule:
        check_schedule("cron_schedule", request.cron_schedule, Recurring, RECURS)
        fields["schedule"] = request.cron_schedule
    return fields


def _work(payload: str) -> dict[str, str]:
    if not payload.startswith(COMMAND):
        return {"handler": ECHO, "payload": payload}
    script = payload.removeprefix(COMMAND)
    if not script.strip():
        raise InvalidFields({"payload": f"nothing follows {COMMAND}"})
    return {"handler": SCRIPT, "payload": script}
