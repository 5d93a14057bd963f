"""An execution's attempts: the earlier ones from its log, the current or last one from the execution itself.

The log keeps the latest ten; of a run that was tried more often, the oldest are left out.
"""

import json
from datetime import datetime
from typing import Any

from mainspring.api.representation import instant, milliseconds
from mainspring.domain.run import Run, State

_OUTCOMES = {
    State.RUNNING: "running",
    State.SUCCEEDED: "succeeded",
    State.DEAD: "failed",
    State.CANCELLED: "cancelled",
}
_LOST_TOO_OFTEN = "lost too often"


def attempts_of(run: Run) -> list[dict[str, Any]]:
    """All that are known, oldest first."""
    logged = [_logged(entry) for entry in (json.loads(run.log) if run.log else ())]
    latest = logged[-1]["attempt"] if logged else 0
    outcome = _OUTCOMES.get(run.state)
    if outcome is None or run.attempt <= latest or run.started_at is None:
        return logged
    last = {
        "attempt": run.attempt,
        "token": run.fence,
        "worker_id": run.worker,
        **_span(run.started_at, run.finished_at),
        "outcome": "lost" if run.reason == _LOST_TOO_OFTEN else outcome,
        "error": run.error,
    }
    return [*logged, last]


def _logged(entry: dict[str, Any]) -> dict[str, Any]:
    started, completed = (datetime.fromisoformat(entry[name]) for name in ("started_at", "completed_at"))
    return {
        "attempt": entry["attempt"],
        "token": entry["token"],
        "worker_id": entry["worker"],
        **_span(started, completed),
        "outcome": entry["outcome"],
        "error": entry["error"],
    }


def _span(started: datetime, completed: datetime | None) -> dict[str, Any]:
    return {
        "started_at": instant(started),
        "completed_at": instant(completed),
        "duration_ms": None if completed is None else max(0, milliseconds(completed - started)),
    }
