"""S1, submissions of users: immediate, scheduled and recurring jobs, shell commands, details and lists.

Each test names the numbers that it shows; docs/reference/documents.md lists what is left to later issues, and why.
"""

import shutil
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.documents.pasting import Reader, until
from tests.documents.submitting import USER, details, ended, submit

HELLO = """curl -X POST http://localhost:8080/submit \\
  -H "Content-Type: application/json" \\
  -H "X-User-ID: demo-user" \\
  -d '{
    "project_id": "demo-project",
    "payload": "Hello, Distributed Scheduler!",
    "max_retries": 3
  }'"""
COMMAND = """curl -X POST http://localhost:8080/submit \\
  -H "Content-Type: application/json" \\
  -H "X-User-ID: demo-user" \\
  -d '{
    "project_id": "shell-demo",
    "payload": "cmd:curl -s https://www.example.com/",
    "max_retries": 3
  }'"""
REFERENCE: dict[str, Any] = {
    "project_id": "my-project",
    "payload": "job-payload-or-cmd:shell-command",
    "cron_schedule": "@every 5m",
    "next_fire_at": "2036-12-31T23:59:59Z",
    "max_retries": 3,
}


def test_the_first_job_is_submitted_and_executed(reader: Reader) -> None:
    """S1-01, 08, 19 to 24, 28 to 30, 32, 33, 37."""
    told = reader.json(HELLO, 202)
    assert told == {"job_id": told["job_id"], "status": "Submitted", "message": "Job submitted successfully"}
    job = ended(reader, told["job_id"])
    assert (job["user_id"], job["project_id"], job["max_retries"]) == (USER, "demo-project", 3)
    assert (job["payload"], job["status"]) == ("Hello, Distributed Scheduler!", "completed")
    [run] = job["runs"]
    assert run["status"] == "completed"
    assert run["worker_id"]
    assert run["triggered_at"] <= run["completed_at"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the document's command needs curl")
def test_a_shell_command_is_executed(reader: Reader) -> None:
    """S1-02, 24."""
    told = reader.json(COMMAND.replace("https://www.example.com/", reader.here("http://localhost:8080/readyz")), 202)
    job = ended(reader, told["job_id"])
    assert (job["status"], job["runs"][0]["output"]) == ("completed", "READY")
    assert job["payload"].startswith("cmd:curl -s http://")


def test_output_and_exit_code_of_a_command_are_kept(reader: Reader) -> None:
    """S1-36."""
    job = ended(reader, submit(reader, payload="cmd:echo x; exit 3", max_retries=0))
    [run] = job["runs"]
    assert (job["status"], run["status"], run["output"]) == ("failed", "failed", "x\n")
    assert "exit code 3" in run["error_message"]


def test_a_failing_job_is_tried_as_often_as_it_says(reader: Reader) -> None:
    """S1-27."""
    job = ended(reader, submit(reader, payload="cmd:exit 1", max_retries=1))
    path = f"http://localhost:8080/api/v1/executions/{job['runs'][0]['run_id']}"
    assert reader.json(f"curl {path}", 200)["attempt"] == 2


@pytest.mark.parametrize("offset", ["Z", "+02:00"])
def test_a_scheduled_job_runs_at_its_time_and_not_before(reader: Reader, offset: str) -> None:
    """S1-09, 26."""
    due = datetime.now(UTC) + timedelta(seconds=2)
    local = due + timedelta(hours=2 if offset != "Z" else 0)
    identity = submit(reader, next_fire_at=f"{local:%Y-%m-%dT%H:%M:%S.%f}{offset}")
    waiting = details(reader, identity)
    assert datetime.fromisoformat(waiting["next_fire_at"]) == due
    [run] = ended(reader, identity)["runs"]
    assert datetime.fromisoformat(run["completed_at"]) >= due


@pytest.mark.parametrize("cron", ["*/2 * * * * *", "@every 2s"])
def test_a_recurring_job_makes_a_new_run_each_time(reader: Reader, cron: str) -> None:
    """S1-10, 25, 38."""
    identity = submit(reader, payload="cmd:echo again", cron_schedule=cron)

    def completed(job: Any) -> list[str]:
        return [run["triggered_at"] for run in job["runs"] if run["output"] == "again\n" and run["completed_at"]]

    job = until(lambda: details(reader, identity), lambda found: len(completed(found)) >= 2)
    later, earlier = (datetime.fromisoformat(at) for at in completed(job)[:2])
    assert later - earlier == timedelta(seconds=2)
    assert len({run["run_id"] for run in job["runs"]}) == len(job["runs"])
    assert (job["cron_schedule"], job["status"] in ("pending", "running")) == (cron, True)
    reader.json(f"curl -X DELETE http://localhost:8080/jobs/{identity}", 202)


def test_the_body_of_the_reference_is_understood(reader: Reader) -> None:
    """S1-23 to 26. With both a schedule and a first time."""
    job = details(reader, submit(reader, **REFERENCE))
    assert {name: job[name] for name in REFERENCE} == REFERENCE
    assert (job["status"], job["runs"]) == ("pending", [])


def test_a_user_is_required_and_sees_only_its_own_jobs(reader: Reader) -> None:
    """S1-21, 31."""
    body = """-H 'Content-Type: application/json' -d '{"project_id": "p", "payload": "x"}'"""
    assert reader.curl(f"curl -X POST http://localhost:8080/submit {body}").status_code == 400
    assert reader.curl("curl http://localhost:8080/jobs").status_code == 400
    mine = {user: submit(reader, user) for user in ("user-a", "user-b")}
    for user, identity in mine.items():
        listed = reader.json(f"curl http://localhost:8080/jobs -H 'X-User-ID: {user}'", 200)
        assert [job["job_id"] for job in listed] == [identity]


def test_details_need_an_id_that_is_there(reader: Reader) -> None:
    """S1-30."""
    assert reader.curl("curl http://localhost:8080/job").status_code == 400
    assert reader.curl(f"curl http://localhost:8080/job?id={uuid4()}").status_code == 404


def test_a_long_payload_comes_back_whole_and_runs(reader: Reader) -> None:
    """S1-94. A script of 2418 bytes, wherever it lies."""
    script = "cmd:" + "\n".join(f"echo line {number}" for number in range(1000))[: 2418 - 4]
    job = ended(reader, submit(reader, payload=script))
    assert (job["payload"], job["status"]) == (script, "completed")
    assert job["runs"][0]["output"].startswith("line 0\nline 1\n")


def test_requests_and_executions_are_counted(reader: Reader) -> None:
    """S1-67, 68."""
    labels = {"method": "POST", "path": "/submit", "status": "202"}
    names = (("http_requests_total", labels), ("jobs_executed_total", {"status": "success"}))
    before = [reader.metric(8080, name, **given) for name, given in names]
    ended(reader, submit(reader))
    after = [reader.metric(8080, name, **given) for name, given in names]
    assert after[0] == before[0] + 1
    assert after[1] >= before[1] + 1


def test_durations_and_long_payloads_are_measured(reader: Reader) -> None:
    """S1-69 to 71."""
    names: list[tuple[str, dict[str, str]]] = [
        ("job_execution_duration_seconds_count", {}),
        ("sqs_enqueue_duration_seconds_count", {}),
        ("s3_operations_total", {"operation": "upload"}),
        ("s3_operations_total", {"operation": "download"}),
    ]
    before = [reader.metric(8080, name, **labels) for name, labels in names]
    assert ended(reader, submit(reader, payload="x" * 5000))["status"] == "completed"
    after = [reader.metric(8080, name, **labels) for name, labels in names]
    assert [now > earlier for now, earlier in zip(after, before, strict=True)] == [True] * 4
