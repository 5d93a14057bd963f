"""S2, a scheduler with an API that creates, updates, cancels and queries jobs; it prints no commands.

Each test names the numbers that it shows; docs/reference/documents.md lists what is left to later issues, and why.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.documents.pasting import Reader, until

JOBS = "http://localhost:8080/api/v1/jobs"
LATER = "2036-01-31T09:00:00Z"
JSON = "-H 'Content-Type: application/json'"


def send(reader: Reader, status: int, method: str, path: str = "", **fields: Any) -> Any:
    return reader.json(f"curl -X {method} {JOBS}{path} {JSON} -d '{json.dumps(fields)}'", status)


def created(reader: Reader, **fields: Any) -> Any:
    return send(reader, 201, "POST", **{"handler": "test.echo", **fields})


def shown(reader: Reader, job: Any) -> Any:
    return reader.json(f"curl {JOBS}/{job['id']}", 200)


def runs(reader: Reader, job: Any) -> Any:
    return reader.json(f"curl {JOBS}/{job['id']}/executions", 200)["items"]


def ended(reader: Reader, job: Any) -> Any:
    return until(lambda: shown(reader, job), lambda found: found["status"] in ("COMPLETED", "FAILED", "CANCELLED"))


def test_a_job_is_updated_before_it_is_due_and_runs_with_what_is_new(reader: Reader) -> None:
    """S2-02, 03, 05, 13, 20."""
    job = created(reader, schedule=LATER, payload="old")
    assert (job["status"], job["next_run_time"]) == ("SCHEDULED", LATER)
    send(reader, 200, "PUT", f"/{job['id']}", payload="new", schedule="in 1s")
    assert ended(reader, job)["status"] == "COMPLETED"
    [run] = runs(reader, job)
    whole = reader.json(f"curl http://localhost:8080/api/v1/executions/{run['id']}", 200)
    assert (whole["result"], whole["attempt"]) == ("new", 1)


def test_a_cancelled_job_never_runs(reader: Reader) -> None:
    """S2-04, 14."""
    job = created(reader, schedule="in 2s")
    reader.json(f"curl -X POST {JOBS}/{job['id']}/cancel", 202)
    assert shown(reader, job)["status"] == "CANCELLED"
    assert [run["status"] for run in runs(reader, job)] == ["CANCELLED"]


def test_a_running_job_is_stopped_by_its_cancellation(reader: Reader) -> None:
    """S2-04, 14."""
    job = created(reader, handler="test.delay", payload={"durationMs": 60_000})
    until(lambda: shown(reader, job), lambda found: found["status"] == "RUNNING")
    reader.json(f"curl -X POST {JOBS}/{job['id']}/cancel", 202)
    assert ended(reader, job)["status"] == "CANCELLED"


@pytest.mark.parametrize("status", ["SCHEDULED", "COMPLETED", "FAILED"])
def test_jobs_are_found_by_their_status(reader: Reader, status: str) -> None:
    """S2-05, 14."""
    fields: dict[str, dict[str, Any]] = {
        "SCHEDULED": {"schedule": LATER},
        "COMPLETED": {},
        "FAILED": {"handler": "test.delay", "payload": {"durationMs": 0, "shouldFail": True}, "max_retries": 0},
    }
    job = created(reader, **fields[status])
    until(lambda: shown(reader, job), lambda found: found["status"] == status)
    found = reader.json(f"curl {JOBS}?status={status}", 200)["items"]
    assert job["id"] in [each["id"] for each in found]
    assert {each["status"] for each in found} == {status}


def test_the_same_job_twice_is_one_job_with_one_run(reader: Reader) -> None:
    """S2-29."""
    fields = {"handler": "test.echo", "jobId": "job-2-29", "scheduleTimeJobs": "2001-01-01T00:00:00Z"}
    first, second = send(reader, 201, "POST", **fields), send(reader, 200, "POST", **fields)
    assert first["id"] == second["id"]
    ended(reader, first)
    assert len(runs(reader, first)) == 1


def test_a_failed_job_is_scheduled_again_after_its_backoff(reader: Reader) -> None:
    """S2-24."""
    failing = {"handler": "test.delay", "payload": {"durationMs": 0, "shouldFail": True}}
    job = created(reader, **failing, retry={"kind": "fixed", "initial_ms": 3_600_000, "max_ms": 3_600_000})
    waiting = until(lambda: runs(reader, job)[0], lambda run: run["attempt"] == 1 and run["status"] == "PENDING")
    delay = datetime.fromisoformat(waiting["scheduled_at"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < delay <= timedelta(hours=1)
    assert shown(reader, job)["next_run_time"] == waiting["scheduled_at"]


@pytest.mark.parametrize(("kind", "gaps"), [("exponential", [0.1, 0.2, 0.4]), ("fixed", [0.1, 0.1, 0.1])])
def test_backoff_is_exponential_or_fixed_and_retries_end(reader: Reader, kind: str, gaps: list[float]) -> None:
    """S2-25, 26, 41, 42."""
    failing = {"handler": "test.delay", "payload": {"durationMs": 0, "shouldFail": True}}
    job = created(reader, **failing, max_retries=3, retry={"kind": kind, "initial_ms": 100, "max_ms": 1000})
    assert ended(reader, job)["status"] == "FAILED"
    [run] = runs(reader, job)
    attempts = reader.json(f"curl http://localhost:8080/api/v1/executions/{run['id']}/attempts", 200)["items"]
    assert len(attempts) == run["attempt"] == 4
    starts = [datetime.fromisoformat(attempt["started_at"]) for attempt in attempts]
    ends = [datetime.fromisoformat(attempt["completed_at"]) for attempt in attempts]
    for start, end, gap in zip(starts[1:], ends, gaps, strict=False):
        assert start - end >= timedelta(seconds=gap * 0.9)
    letters = reader.json(f"curl http://localhost:8080/api/v1/dead-letter?job_id={job['id']}", 200)["items"]
    assert [letter["id"] for letter in letters] == [run["id"]]


def test_a_recurring_job_fires_again_and_again(reader: Reader) -> None:
    """S2-40."""
    job = created(reader, schedule="* * * * * *")
    until(lambda: runs(reader, job), lambda found: len(found) >= 2)
    assert reader.curl(f"curl -X DELETE {JOBS}/{job['id']}").status_code == 204


def test_every_change_is_in_the_audit(reader: Reader) -> None:
    """S2-43."""
    job = created(reader, schedule=LATER)
    send(reader, 200, "PUT", f"/{job['id']}", priority=90)
    reader.json(f"curl -X POST {JOBS}/{job['id']}/cancel", 202)
    entries = reader.json(f"curl http://localhost:8080/api/v1/audit?job_id={job['id']}", 200)["items"]
    assert [entry["action"] for entry in entries] == ["job.cancel", "job.update", "job.create"]
    assert (entries[1]["before"]["priority"], entries[1]["after"]["priority"]) == (50, 90)


def test_what_the_document_tracks_is_counted(reader: Reader) -> None:
    """S2-34 to 37."""
    names = ("jobs_scheduled_total", "jobs_executed_total", "job_retries_total")
    before = [reader.metric(8080, name) for name in names]
    failing = {"handler": "test.delay", "payload": {"durationMs": 0, "shouldFail": True}}
    ended(reader, created(reader, **failing, max_retries=1, retry={"initial_ms": 1}))
    for name, count in zip(names, before, strict=True):
        assert reader.metric(8080, name) >= count + 1
