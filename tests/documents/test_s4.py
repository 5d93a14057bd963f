"""S4, the API under `/api/v1`: jobs, executions, metrics, built-in handlers, cron and the environment.

Each test names the numbers that it shows; docs/reference/documents.md lists what is left to later issues, and why.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.documents.pasting import Reader, until
from tests.documents.starting import Started, started

CREATE = """curl -X POST http://localhost:3001/api/v1/jobs \\
  -H "Content-Type: application/json" \\
  -d '{
    "name": "daily-report",
    "description": "Generate daily sales report",
    "handler": "http.webhook",
    "payload": {
      "url": "https://api.example.com/reports/generate",
      "method": "POST"
    },
    "schedule": "0 6 * * *",
    "priority": 75,
    "max_retries": 3,
    "timeout_ms": 60000
  }'"""
API = "http://localhost:3001/api/v1"
JSON = "-H 'Content-Type: application/json'"
FAILING: dict[str, Any] = {
    "handler": "test.delay",
    "payload": {"durationMs": 0, "shouldFail": True, "failMessage": "as it should"},
}


def get(reader: Reader, path: str, status: int = 200) -> Any:
    return reader.json(f"curl {API}{path}", status)


def post(reader: Reader, path: str, status: int) -> Any:
    return reader.json(f"curl -X POST {API}{path}", status)


def created(reader: Reader, status: int = 201, **fields: Any) -> Any:
    return reader.json(f"curl -X POST {API}/jobs {JSON} -d '{json.dumps(fields)}'", status)


def execution(reader: Reader, job: Any, *statuses: str) -> Any:
    """The job's latest execution, whole, once it has one of these states."""
    path = f"/jobs/{job['id']}/executions"
    runs = until(lambda: get(reader, path)["items"], lambda found: found and found[0]["status"] in statuses)
    return get(reader, f"/executions/{runs[0]['id']}")


def completed(reader: Reader, identity: str) -> Any:
    return until(lambda: get(reader, f"/executions/{identity}"), lambda run: run["status"] == "COMPLETED")


def test_the_document_s_job_is_created_updated_paused_and_deleted(reader: Reader) -> None:
    """S4-02, 03, 22 to 27, 30 to 32, 34, 36, 37, 39, 85."""
    job = reader.json(CREATE, 201)
    sent = json.loads(CREATE.partition("-d '")[2].rstrip("'"))
    assert {field: job[field] for field in sent} == sent
    assert job["status"] == "SCHEDULED"
    assert job["next_run_time"].endswith("T06:00:00Z")
    path = f"{API}/jobs/{job['id']}"
    assert job["id"] in [each["id"] for each in get(reader, "/jobs")["items"]]
    changed = reader.json(f"""curl -X PUT {path} {JSON} -d '{{"schedule": "0 7 * * *", "priority": 10}}'""", 200)
    assert changed["next_run_time"].endswith("T07:00:00Z")
    assert (changed["priority"], changed["name"]) == (10, "daily-report")
    assert reader.curl(f"""curl -X PUT {path} {JSON} -d '{{"schedule": "61 * * * *"}}'""").status_code == 422
    paused = post(reader, f"/jobs/{job['id']}/pause", 200)
    assert (paused["status"], paused["next_run_time"]) == ("PAUSED", None)
    resumed = post(reader, f"/jobs/{job['id']}/resume", 200)
    assert (resumed["status"], resumed["next_run_time"]) == ("SCHEDULED", changed["next_run_time"])
    assert reader.curl(f"curl -X DELETE {path}").status_code == 204
    assert reader.curl(f"curl {path}").status_code == 404


def test_each_trigger_is_an_execution_of_its_own_beside_the_schedule(reader: Reader) -> None:
    """S4-29, 40, 41, 54."""
    job = created(reader, handler="test.echo", payload={"a": 1}, schedule="@yearly")
    triggered = [post(reader, f"/jobs/{job['id']}/trigger", 202)["id"] for _ in range(2)]
    for identity in triggered:
        ran = completed(reader, identity)
        assert (ran["result"], ran["attempt"]) == ({"a": 1}, 1)
        assert ran["worker_id"]
    listed = [run["id"] for run in get(reader, f"/jobs/{job['id']}/executions")["items"]]
    assert listed == sorted(triggered, reverse=True)
    assert get(reader, f"/jobs/{job['id']}")["next_run_time"] == job["next_run_time"]


@pytest.mark.parametrize(("priority", "status"), [(0, 201), (100, 201), (-1, 422), (101, 422)])
def test_priorities_go_from_0_to_100(reader: Reader, priority: int, status: int) -> None:
    """S4-04."""
    created(reader, status, handler="test.echo", schedule="on-demand", priority=priority)


@pytest.mark.parametrize("fields", [{"handler": "no.such"}, {"handler": "test.echo", "schedule": "every day"}])
def test_what_makes_no_sense_is_refused(reader: Reader, fields: Any) -> None:
    """S4-33, 35."""
    created(reader, 422, **fields)


def test_a_running_execution_is_cancelled_and_not_retried(reader: Reader) -> None:
    """S4-42, 55."""
    job = created(reader, handler="test.delay", payload={"durationMs": 30_000})
    running = execution(reader, job, "RUNNING")
    post(reader, f"/executions/{running['id']}/cancel", 202)
    ended = execution(reader, job, "CANCELLED")
    assert (ended["id"], ended["attempt"]) == (running["id"], 1)
    post(reader, f"/executions/{running['id']}/cancel", 409)


def test_a_failed_execution_is_a_dead_letter_and_can_be_retried(reader: Reader) -> None:
    """S4-07, 10, 43, 48, 55."""
    job = created(reader, **FAILING, max_retries=1, retry={"initial_ms": 1})
    failed = execution(reader, job, "FAILED")
    assert (failed["attempt"], failed["error"]) == (2, "as it should")
    assert failed["id"] in [letter["id"] for letter in get(reader, "/dead-letter")["items"]]
    again = post(reader, f"/executions/{failed['id']}/retry", 202)
    assert (again["retry_of"], again["job_id"]) == (failed["id"], job["id"])
    good = execution(reader, created(reader, handler="test.echo"), "COMPLETED")
    post(reader, f"/executions/{good['id']}/retry", 409)


def test_a_handler_that_takes_too_long_is_stopped(reader: Reader) -> None:
    """S4-38."""
    fields: dict[str, Any] = {
        "handler": "test.delay",
        "payload": {"durationMs": 30_000},
        "timeout_ms": 100,
        "max_retries": 0,
    }
    assert execution(reader, created(reader, **fields), "FAILED")["error"]


def test_a_shell_command_gets_its_arguments_folder_and_environment(reader: Reader) -> None:
    """S4-52, 53."""
    program = 'import os; print(os.getcwd(), os.environ["DEBUG"])'
    payload = {"command": "python3", "args": ["-c", program], "cwd": "/tmp", "env": {"DEBUG": "1"}}  # noqa: S108
    ran = execution(reader, created(reader, handler="shell.command", payload=payload), "COMPLETED", "FAILED")
    assert (ran["status"], ran["output"]) == ("COMPLETED", "/tmp 1\n")  # noqa: S108
    failing = {"command": "sh", "args": ["-c", "exit 3"]}
    ran = execution(reader, created(reader, handler="shell.command", payload=failing, max_retries=0), "FAILED")
    assert "exit code 3" in ran["error"]


def test_a_webhook_calls_an_endpoint(reader: Reader) -> None:
    """S4-49 to 51: our own API is the endpoint."""
    body = {"handler": "test.echo", "name": "made by a webhook", "schedule": "on-demand"}
    hook = {"url": reader.here(f"{API}/jobs"), "method": "POST", "headers": {"X-User-ID": "hook"}, "body": body}
    job = created(reader, handler="http.webhook", payload={**hook, "timeout": 30_000})
    assert execution(reader, job, "COMPLETED")["status"] == "COMPLETED"
    assert [each["name"] for each in get(reader, "/jobs?owner=hook")["items"]] == ["made by a webhook"]
    refused = created(reader, handler="http.webhook", payload={**hook, "body": {}}, max_retries=0)
    assert "422" in execution(reader, refused, "FAILED")["error"]


def test_messages_are_logged_and_old_executions_cleaned_up(reader: Reader, server: Started) -> None:
    """S4-56, 57."""
    job = created(reader, handler="test.log", payload={"message": "hello from S4"})
    execution(reader, job, "COMPLETED")
    assert "hello from S4" in [line["message"] for line in server.lines("test.log")]
    cleanup = created(reader, handler="system.cleanup", payload={"olderThanDays": 30})
    assert execution(reader, cleanup, "COMPLETED")["result"] == {"removed": 0}


def test_health_metrics_and_workers_are_shown(reader: Reader) -> None:
    """S4-21, 44 to 47."""
    health = get(reader, "/health")
    assert (health["status"], health["database"]["status"], health["queue"]["status"]) == ("healthy", "up", "up")
    assert get(reader, "/metrics")["workers"] == 1
    execution(reader, created(reader, handler="test.echo"), "COMPLETED")
    statistics = get(reader, "/metrics/executions")
    assert statistics["by_status"]["COMPLETED"] >= 1
    assert {"success_rate", "duration_ms"} <= statistics.keys()
    [worker] = get(reader, "/workers")["items"]
    assert {"id", "last_heartbeat", "executing", "capacity"} <= worker.keys()


@pytest.mark.parametrize(
    ("cron", "moments"),
    [
        ("* * * * *", ["01-01T00:01", "01-01T00:02"]),
        ("*/5 * * * *", ["01-01T00:05", "01-01T00:10"]),
        ("0 * * * *", ["01-01T01:00", "01-01T02:00"]),
        ("0 0 * * *", ["01-02T00:00", "01-03T00:00"]),
        ("0 6 * * *", ["01-01T06:00", "01-02T06:00"]),
        ("0 0 * * 0", ["01-06T00:00", "01-13T00:00"]),
        ("0 0 1 * *", ["02-01T00:00", "03-01T00:00"]),
    ],
)
def test_the_document_s_cron_expressions_mean_what_it_says(reader: Reader, cron: str, moments: list[str]) -> None:
    """S4-58 to 64."""
    job = created(reader, handler="test.echo", schedule=cron, starts_at="2030-01-01T00:00:30Z")
    assert job["next_run_time"] == f"2030-{moments[0]}:00Z"
    path = f"{API}/jobs/{job['id']}"
    line = f"""curl -X PUT {path} {JSON} -d '{{"starts_at": "2030-{moments[0]}:30Z"}}'"""
    assert reader.json(line, 200)["next_run_time"] == f"2030-{moments[1]}:00Z"
    assert reader.curl(f"curl -X DELETE {path}").status_code == 204


def test_the_environment_of_the_document_sets_a_process_up(tmp_path: Path) -> None:
    """S4-05, 20, 65, 68, 71, 72, 82."""
    (tmp_path / ".env").write_text(
        "PORT=0\nSCHEDULER_INSTANCE_ID=scheduler-1\nSCAN_INTERVAL_MS=1000\nLEADER_LOCK_TTL=30\n"
    )
    variables = {"WORKER_ID": "worker-1", "MAX_CONCURRENT_JOBS": "1"}
    with started(tmp_path, "serve", **variables) as running:
        reader = Reader({3001: running.ports(1)[0]})
        assert running.lines("became leader")[0]["name"] == "scheduler-1"
        [worker] = until(lambda: get(reader, "/workers")["items"], lambda workers: workers)
        assert (worker["id"], worker["capacity"]) == ("worker-1", 1)
        blocker = created(reader, handler="test.delay", payload={"durationMs": 60_000}, priority=100)
        held = execution(reader, blocker, "RUNNING")
        jobs = {priority: created(reader, handler="test.echo", priority=priority) for priority in (10, 90, 50)}
        post(reader, f"/executions/{held['id']}/cancel", 202)
        ran = [execution(reader, jobs[priority], "COMPLETED") for priority in (90, 50, 10)]
        starts = [run["started_at"] for run in ran]
        assert starts == sorted(starts)
        reader.close()


def test_a_job_of_a_killed_worker_runs_again_after_the_visibility_timeout(tmp_path: Path) -> None:
    """S4-09, 19, 21, 73, 79, 88."""
    timeout = {"VISIBILITY_TIMEOUT_MS": "2000"}
    with (
        started(tmp_path, "api", "--port", "0") as api,
        started(tmp_path, "scheduler"),
        started(tmp_path, "worker", WORKER_ID="worker-1", **timeout) as doomed,
    ):
        reader = Reader({3001: api.ports(1)[0]})
        job = created(reader, handler="test.delay", payload={"durationMs": 60_000}, max_retries=0)
        assert execution(reader, job, "RUNNING")["worker_id"] == "worker-1"
        doomed.kill()
        with started(tmp_path, "worker", WORKER_ID="worker-2", **timeout):
            path = f"/jobs/{job['id']}/executions"
            [run] = until(lambda: get(reader, path)["items"], lambda runs: runs[0]["worker_id"] == "worker-2")
            assert (run["status"], run["attempt"]) == ("RUNNING", 2)
            until(lambda: [each["id"] for each in get(reader, "/workers")["items"]], lambda ids: ids == ["worker-2"])
            post(reader, f"/executions/{run['id']}/cancel", 202)
            execution(reader, job, "CANCELLED")
        reader.close()
