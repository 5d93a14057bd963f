"""A job as the lab shows it: the native job and its run, renamed."""

from collections.abc import Mapping
from typing import Any

from mainspring.api.dialects.door import renamed
from mainspring.api.dialects.lab_request import SIMULATE
from mainspring.api.document import Raw, read_object
from mainspring.api.representation import shown_job, shown_run
from mainspring.api.words import PLAIN_PENDING, plain_word
from mainspring.domain.run import State
from mainspring.domain.schedule import After, At, Recurring, parse
from mainspring.errors import Invalid
from mainspring.ports.views import JobRecord

_OF_JOB = {"id": "id", "job_id": "id", "name": "name"}
_OF_RUN = {
    "started_at": "started_at",
    "completed_at": "completed_at",
    "worker_id": "worker_id",
    "attempt": "attempt",
    "error_message": "error",
}
_NEVER_RUN = {**dict.fromkeys(_OF_RUN), "attempt": 0}
_LIVE = frozenset({State.WAITING, State.RUNNING})


def shown(record: JobRecord, payload: bytes, status: str | None = None) -> dict[str, Any]:
    """A job that was read, under another status if one is given."""
    job, run = shown_job(record, payload), record.run
    word = status or plain_word(record.job, run)
    if run is None:
        return _lab_job(job, payload, word, job["next_run_time"], _NEVER_RUN)
    execution = shown_run(run, None)
    scheduled = execution["scheduled_at"]
    if run.state not in _LIVE:
        scheduled = job["next_run_time"] or scheduled
    return _lab_job(job, payload, word, scheduled, renamed(execution, _OF_RUN))


def created(job: Mapping[str, Any], payload: bytes) -> dict[str, Any]:
    """A native job that was just stored: nobody has run it yet, whatever happens meanwhile."""
    return _lab_job(job, payload, PLAIN_PENDING, job["next_run_time"], _NEVER_RUN)


def _lab_job(
    job: Mapping[str, Any], payload: bytes, status: str, scheduled_at: str | None, run: Mapping[str, Any]
) -> dict[str, Any]:
    schedule = job["schedule"]
    return {
        **renamed(job, _OF_JOB),
        "job_type": _type_of(schedule, job["timezone"]),
        "status": status,
        "payload": Raw(_given(job["handler"], payload)),
        "schedule": "now" if schedule == "on-demand" else schedule,
        "scheduled_at": scheduled_at,
        **run,
    }


def _type_of(schedule: str, timezone: str) -> str:
    when = parse(schedule, timezone=timezone)
    if isinstance(when, Recurring):
        return "recurring"
    return "delayed" if isinstance(when, At | After) else "immediate"


def _given(handler: str, payload: bytes) -> bytes:
    """The payload that the lab was given: for simulated work, what stands inside."""
    if handler != SIMULATE:
        return payload
    try:
        return read_object(payload).payload or b"null"
    except Invalid:
        return payload  # a job from elsewhere, which the handler will refuse
