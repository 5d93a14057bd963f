"""S0, the scheduler with locks: creating and running jobs, probes, metrics, attempts, backoff, the cap and the drain.

Each test names the numbers that it shows; docs/reference/documents.md lists what is left to later issues, and why.
"""

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.cli.commands import typed
from tests.documents.pasting import Reader, until
from tests.documents.starting import Started, started

CREATE = """curl -X POST http://localhost:8080/jobs -d '{"schedule":"now","payload":"{}","max_duration_seconds":60}' -H 'Content-Type: application/json'"""  # noqa: E501 - as it is written
RUN = "curl -X POST http://localhost:8080/jobs/{}/run"
METRICS = "curl http://localhost:8080/metrics"
FAILING = """curl -X POST http://localhost:8080/jobs -H 'Content-Type: application/json' -d '{"schedule": "now", "handler": "test.delay", "payload": {"durationMs": 0, "shouldFail": true}}'"""  # noqa: E501
DELAY = """curl -X POST http://localhost:8080/jobs -H 'Content-Type: application/json' -d '{{"schedule": "now", "handler": "test.delay", "payload": {{"durationMs": {}}}, "max_duration_seconds": {}}}'"""  # noqa: E501


def job(reader: Reader, identity: str) -> Any:
    return reader.json(f"curl http://localhost:8080/jobs/{identity}", 200)


def history(reader: Reader, identity: str) -> Any:
    return reader.json(f"curl http://localhost:8080/api/v1/jobs/{identity}/executions", 200)["items"]


def run(reader: Reader, identity: str) -> str:
    told = reader.json(RUN.format(identity), 202)
    assert told["job_id"] == identity
    return str(told["run_id"])


def ended(reader: Reader, identity: str) -> Any:
    return until(lambda: job(reader, identity), lambda found: found["completed_at"])


def test_the_quick_start_creates_a_job_that_runs_when_it_is_told_to(reader: Reader) -> None:
    """S0-02, 05, 12 to 18, 20, 49, 58."""
    created = reader.json(CREATE, 201)
    identity = created["job_id"]
    assert str(UUID(identity)) == identity
    shown = job(reader, identity)
    assert (shown["job_id"], shown["status"], shown["schedule"], shown["payload"]) == (identity, "pending", "now", "{}")
    assert history(reader, identity) == []
    execution = run(reader, identity)
    until(lambda: job(reader, identity), lambda found: found["status"] == "completed")
    [ran] = history(reader, identity)
    assert (ran["id"], ran["status"]) == (execution, "COMPLETED")
    assert ran["started_at"] <= ran["completed_at"]


def test_what_there_is_not_is_not_found(reader: Reader) -> None:
    """S0-17, 18."""
    assert reader.curl(f"curl http://localhost:8080/jobs/{uuid4()}").status_code == 404
    assert reader.curl(RUN.format(uuid4())).status_code == 404


def test_the_metrics_are_prometheus_text_and_count_what_happened(reader: Reader) -> None:
    """S0-21, 34, 35, 39."""
    assert reader.curl(METRICS).headers["content-type"].startswith("text/plain; version=0.0.4")
    before = {status: reader.metric(8080, "jobs_processed_total", status=status) for status in ("success", "failed")}
    good = reader.json(CREATE, 201)["job_id"]
    bad = reader.json(FAILING.replace('"schedule"', '"max_retries": 0, "schedule"'), 201)["job_id"]
    for identity in (good, bad):
        run(reader, identity)
        ended(reader, identity)
    for status, count in before.items():
        assert reader.metric(8080, "jobs_processed_total", status=status) == count + 1
    assert reader.metric(8080, "jobs_dlq_total") >= 1
    slow = reader.json(DELAY.format(60_000, 120), 201)["job_id"]
    run(reader, slow)
    until(lambda: reader.metric(8080, "jobs_in_progress"), lambda running: running == 1)
    reader.json(f"curl -X POST http://localhost:8080/jobs/{slow}/cancel", 202)
    until(lambda: reader.metric(8080, "jobs_in_progress"), lambda running: running == 0)


def test_durations_and_locks_are_measured(reader: Reader) -> None:
    """S0-36 to 38."""
    taken = {"operation": "acquire", "result": "ok"}
    names: list[tuple[str, dict[str, str]]] = [
        ("job_duration_seconds_count", {}),
        ("lock_lwt_latency_seconds_count", {}),
        ("lock_operations_total", taken),
    ]
    before = [reader.metric(8080, name, **labels) for name, labels in names]
    identity = reader.json(CREATE, 201)["job_id"]
    run(reader, identity)
    ended(reader, identity)
    lock = "http://localhost:8080/api/v1/locks/measured/acquire"
    reader.json(
        f"""curl -X POST {lock} -H 'Content-Type: application/json' -d '{{"ttl_ms": 1000, "holder": "me"}}'""", 200
    )
    after = [reader.metric(8080, name, **labels) for name, labels in names]
    assert [now > earlier for now, earlier in zip(after, before, strict=True)] == [True, True, True]
    assert reader.metric(8080, "job_duration_seconds_bucket", le="+Inf") == after[0]
    assert reader.metric(8080, "job_duration_seconds_sum") > 0


def test_the_probes_say_ok_and_ready(reader: Reader) -> None:
    """S0-22, 23. As far as all is well; what they say otherwise is shown where the store can be taken away."""
    assert reader.curl("curl http://localhost:8080/healthz").text == "OK"
    ready = until(lambda: reader.curl("curl http://localhost:8080/readyz"), lambda answer: answer.status_code == 200)
    assert ready.text == "READY"


def test_a_job_that_takes_too_long_is_stopped(reader: Reader) -> None:
    """S0-15."""
    identity = reader.json(DELAY.format(60_000, 0.2).replace('"schedule"', '"max_retries": 0, "schedule"'), 201)[
        "job_id"
    ]
    run(reader, identity)
    late = ended(reader, identity)
    assert late["status"] == "failed"
    assert late["error_message"]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server that is set up by the document's variables, in `.env` and in the environment."""
    folder = tmp_path_factory.mktemp("tuned")
    (folder / ".env").write_text("WORKER_MAX_ATTEMPTS=3\nWORKER_BACKOFF_BASE_MS=100\nWORKER_BACKOFF_MAX_MS=150\n")
    with started(folder, "serve", WORKER_MAX_IN_PROGRESS="2", PORT="0") as running:
        reader = Reader({8080: running.ports(1)[0]})
        yield running, reader
        reader.close()


def test_a_job_that_keeps_failing_is_tried_with_growing_waits_and_then_a_dead_letter(
    tuned: tuple[Started, Reader],
) -> None:
    """S0-39, 52 to 54, 56, 57."""
    _, reader = tuned
    identity = reader.json(FAILING, 201)["job_id"]
    execution = run(reader, identity)
    dead = ended(reader, identity)
    assert (dead["status"], dead["attempt"], dead["error_message"]) == ("failed", 3, "Simulated failure")
    stored = reader.json(f"curl http://localhost:8080/api/v1/jobs/{identity}", 200)
    assert stored["retry"] == {"kind": "exponential", "initial_ms": 100, "max_ms": 150, "jitter": 0.0}
    attempts = reader.json(f"curl http://localhost:8080/api/v1/executions/{execution}/attempts", 200)["items"]
    spans = [[datetime.fromisoformat(each[name]) for name in ("started_at", "completed_at")] for each in attempts]
    waits = [later[0] - earlier[1] for earlier, later in pairwise(spans)]
    assert [wait >= timedelta(milliseconds=least) for wait, least in zip(waits, (100, 150), strict=True)] == [
        True,
        True,
    ]
    letters = reader.json("curl http://localhost:8080/api/v1/dead-letter", 200)["items"]
    assert [letter["id"] for letter in letters] == [execution]
    assert reader.metric(8080, "jobs_dlq_total") == 1


def test_without_a_setting_32_jobs_run_at_once(reader: Reader) -> None:
    """S0-55."""
    [worker] = until(lambda: reader.json("curl http://localhost:8080/workers", 200), lambda workers: workers)
    assert worker["capacity"] == 32


def test_no_more_jobs_run_at_once_than_the_cap_allows(tuned: tuple[Started, Reader]) -> None:
    """S0-51."""
    _, reader = tuned
    slow = [reader.json(DELAY.format(60_000, 120), 201)["job_id"] for _ in range(3)]
    runs = [run(reader, identity) for identity in slow]

    def running() -> list[str]:
        path = "http://localhost:8080/api/v1/executions?status=RUNNING"
        return [each["id"] for each in reader.json(f"curl {path}", 200)["items"]]

    # Quick jobs before these may have made the worker take one more in advance, which it gives back within a second.
    until(lambda: reader.metric(8080, "jobs_in_progress"), lambda in_progress: in_progress == 2)
    first = until(running, lambda found: len(found) == 2)
    [waiting] = set(runs) - set(first)
    reader.json(f"curl -X POST http://localhost:8080/api/v1/executions/{first[0]}/cancel", 202)
    until(running, lambda found: waiting in found and len(found) == 2)
    for identity in slow:
        reader.curl(f"curl -X POST http://localhost:8080/jobs/{identity}/cancel")
    until(running, lambda found: not found)


def test_a_process_that_is_asked_to_stop_ends_its_work_first(tmp_path: Path) -> None:
    """S0-50."""
    with started(tmp_path, "serve", PORT="0") as running:
        reader = Reader({8080: running.ports(1)[0]})
        identity = reader.json(DELAY.format(1500, 60), 201)["job_id"]
        execution = run(reader, identity)
        until(lambda: job(reader, identity), lambda found: found["status"] == "running")
        reader.close()
        assert running.stop() == 0
    with started(tmp_path, "api", PORT="0") as running:
        reader = Reader({8080: running.ports(1)[0]})
        assert reader.json(f"curl http://localhost:8080/api/v1/executions/{execution}", 200)["status"] == "COMPLETED"
        reader.close()


def test_the_schema_can_be_applied_again(tmp_path: Path) -> None:
    """S0-31."""
    said = [typed(tmp_path, "migrate") for _ in range(2)]
    assert [each.returncode for each in said] == [0, 0]
    assert said[0].stdout == said[1].stdout
