"""A user's job and its runs: the native ones, renamed."""

import json
from typing import Any

from mainspring.api.dialects.door import renamed
from mainspring.api.dialects.submit_request import COMMAND, SCRIPT
from mainspring.api.document import Raw
from mainspring.api.representation import shown_job
from mainspring.api.representation import shown_run as shown_execution
from mainspring.api.words import plain_run_word, plain_word
from mainspring.domain.run import Run
from mainspring.domain.schedule import Recurring
from mainspring.ports.output import Printed
from mainspring.ports.views import JobRecord

_OF_JOB = {"job_id": "id", "user_id": "owner", "project_id": "project_id"}
_ALSO_OF_JOB = {"created_at": "created_at", "max_retries": "max_retries"}
_OF_RUN = {
    "run_id": "id",
    "status": "status",
    "triggered_at": "fire_time",
    "completed_at": "completed_at",
    "output": "output",
    "worker_id": "worker_id",
    "error_message": "error",
}


def shown(record: JobRecord, payload: bytes | None) -> dict[str, Any]:
    """A job; *payload* is None where it lies in a blob that wasn't fetched: then the field is left out."""
    job = shown_job(record, payload)
    recurs = isinstance(record.job.terms.parsed(), Recurring)
    return {
        **renamed(job, _OF_JOB),
        **({} if payload is None else {"payload": _given(job["handler"], payload)}),
        "cron_schedule": job["schedule"] if recurs else None,
        "next_fire_at": job["next_run_time"],
        "status": plain_word(record.job, record.run),
        **renamed(job, _ALSO_OF_JOB),
    }


def shown_run(run: Run, printed: Printed | None) -> dict[str, Any]:
    """A run, with what it printed."""
    execution = shown_execution(run, None, printed)
    return {**renamed(execution, _OF_RUN), "status": plain_run_word(run.state)}


def _given(handler: str, payload: bytes) -> str | Raw:
    """The payload that was submitted: a script had a mark before it."""
    script = json.loads(payload) if handler == SCRIPT else None
    return COMMAND + script if isinstance(script, str) else Raw(payload)
