"""`/jobs` in the words of the lab: what is created, what it shows at every step, and what is refused."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app
from mainspring.api.dialects.defaults import Defaults
from mainspring.api.ports import ApiPorts
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.domain.plan import DueJob, plan
from tests.api.calling import JOBS, Api, calling, claimed, executed, settled
from tests.api.keyed import bearer, stored_key

LAB = "/jobs"
SHOWN = [
    "id",
    "job_id",
    "name",
    "job_type",
    "status",
    "payload",
    "schedule",
    "scheduled_at",
    "started_at",
    "completed_at",
    "worker_id",
    "attempt",
    "error_message",
]
NEVER = "0 0 1 1 *"


async def native(api: Api, job: Any) -> Any:
    return await api.get(f"{JOBS}/{job['id']}")


async def shown(api: Api, job: Any) -> Any:
    return await api.get(f"{LAB}/{job['id']}")


async def test_a_job_without_any_field_is_simulated_work_that_is_pending(api: Api) -> None:
    job = await api.post(LAB, 201)
    assert list(job) == SHOWN
    assert (job["status"], job["job_type"], job["attempt"], job["payload"]) == ("pending", "immediate", 0, None)
    assert job["id"] == job["job_id"] == str(UUID(job["id"]))
    stored = await native(api, job)
    assert stored["handler"] == "lab.simulate"
    assert stored["payload"] == {"execution_time_ms": 1000, "fail_rate": 0, "payload": None}
    assert stored["retry"]["initial_ms"] == 2000
    assert stored["max_retries"] == 3


async def test_a_payload_is_shown_as_it_was_sent(api: Api) -> None:
    text = '{"b": 1.50, "a": [1, 2]}'
    body = f'{{"name": "n", "payload": {text}, "execution_time_ms": 5, "fail_rate": 0.7}}'
    headers = {"Content-Type": "application/json"}
    response = await api.ask("POST", LAB, 201, content=body, headers=headers)
    assert text in response.text
    assert text in (await api.ask("GET", f"{LAB}/{response.json()['id']}", 200)).text
    assert (await native(api, response.json()))["payload"]["fail_rate"] == 0.7


async def test_a_delayed_job_is_scheduled_after_its_delay(api: Api) -> None:
    job = await api.post(LAB, 201, json={"job_type": "delayed", "delay_seconds": 3600})
    assert (job["status"], job["job_type"]) == ("pending", "delayed")
    wait = datetime.fromisoformat(job["scheduled_at"]) - datetime.now(UTC)
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)
    assert (await shown(api, job))["scheduled_at"] == job["scheduled_at"]


@pytest.mark.parametrize("field", ["cron_expression", "cron", "cron_schedule", "schedule"])
async def test_a_recurring_job_has_its_cron_under_any_of_its_names(api: Api, field: str) -> None:
    job = await api.post(LAB, 201, json={"job_type": "recurring", field: NEVER})
    assert (job["job_type"], job["schedule"], job["status"]) == ("recurring", NEVER, "pending")
    assert job["scheduled_at"].endswith("-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("fields", "kind"), [({"delay_seconds": 60}, "delayed"), ({"cron": "@hourly"}, "recurring"), ({}, "immediate")]
)
async def test_the_type_follows_from_the_other_fields(api: Api, fields: Any, kind: str) -> None:
    assert (await api.post(LAB, 201, json=fields))["job_type"] == kind


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"job_type": "sometimes"}, "job_type"),
        ({"job_type": "delayed"}, "delay_seconds"),
        ({"job_type": "recurring"}, "cron_expression"),
        ({"job_type": "recurring", "cron": "in 5s"}, "cron"),
        ({"job_type": "recurring", "cron": "61 * * * *"}, "cron"),
        ({"job_type": "recurring", "cron": NEVER, "schedule": NEVER}, "cron"),
        ({"job_type": "immediate", "delay_seconds": 1}, "delay_seconds"),
        ({"job_type": "delayed", "delay_seconds": 1, "cron": NEVER}, "cron"),
        ({"schedule": "now", "delay_seconds": 1}, "delay_seconds"),
        ({"handler": "test.echo", "fail_rate": 0.5}, "fail_rate"),
        ({"fail_rate": 1.5}, "fail_rate"),
        ({"execution_time_ms": -1}, "execution_time_ms"),
        ({"max_duration_seconds": 0}, "max_duration_seconds"),
        ({"fail_rat": 0.5}, "fail_rat"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(api: Api, fields: Any, wrong: str) -> None:
    problem = await api.post(LAB, 422, json=fields)
    assert [fault["field"] for fault in problem["errors"]] == [wrong]


async def test_an_unknown_handler_is_refused(api: Api) -> None:
    assert (await api.post(LAB, 422, json={"handler": "no.such"}))["error"] == "unknown_handler"


async def test_every_step_of_a_job_has_its_word(api: Api, store: SqliteStore) -> None:
    job = await api.post(LAB, 201, json={"max_retries": 1})
    first = await claimed(store)
    running = await shown(api, job)
    assert (running["status"], running["attempt"], running["completed_at"]) == ("running", 1, None)
    assert running["worker_id"]
    assert running["started_at"]
    await settled(store, first, Failed(error="it broke"))
    between = await shown(api, job)
    assert (between["status"], between["attempt"], between["error_message"]) == ("pending", 1, "it broke")
    delay = datetime.fromisoformat(between["scheduled_at"]) - datetime.fromisoformat(running["started_at"])
    assert timedelta(seconds=2) <= delay < timedelta(seconds=60)


@pytest.mark.parametrize(
    ("outcome", "word"), [(Succeeded(result=b"1"), "completed"), (Failed(error="no", permanent=True), "failed")]
)
async def test_a_job_that_has_ended_says_how(api: Api, store: SqliteStore, outcome: Any, word: str) -> None:
    job = await api.post(LAB, 201)
    await executed(store, outcome)
    ended = await shown(api, job)
    assert (ended["status"], ended["attempt"]) == (word, 1)
    assert ended["completed_at"] is not None


async def test_a_recurring_job_is_pending_again_after_a_success_and_failed_after_a_failure(
    api: Api, store: SqliteStore
) -> None:
    job = await api.post(LAB, 201, json={"cron": "* * * * * *", "max_retries": 0})
    for outcome, word in ((Succeeded(result=b"1"), "pending"), (Failed(error="no"), "failed")):
        await fired(store)
        attempt = await claimed(store)
        assert (await shown(api, job))["status"] == "running"
        await settled(store, attempt, outcome)
        after = await shown(api, job)
        assert after["status"] == word
        assert after["scheduled_at"] > after["started_at"]


async def fired(store: SqliteStore) -> None:
    """Fire the newest due moment of the only job, once one has come."""
    due = await store.timetable.due(1)
    while not due.jobs:
        await asyncio.sleep((due.next_in or timedelta(seconds=1)).total_seconds())
        due = await store.timetable.due(1)
    [job] = due.jobs
    assert await store.timetable.fire([plan(DueJob(job=job.job, active=job.active), due.now)]) == [True]


async def test_a_paused_job_says_so(api: Api) -> None:
    job = await api.post(LAB, 201, json={"cron": NEVER})
    await api.post(f"{JOBS}/{job['id']}/pause", 200)
    assert (await shown(api, job))["status"] == "paused"


async def test_a_job_with_a_schedule_of_now_waits_until_it_is_run(api: Api, store: SqliteStore) -> None:
    job = await api.post(LAB, 201, json={"schedule": "now", "payload": "{}", "max_duration_seconds": 60})
    assert (job["payload"], job["schedule"], job["status"]) == ("{}", "now", "pending")
    stored = await native(api, job)
    assert (stored["handler"], stored["schedule"], stored["timeout_ms"]) == ("test.echo", "on-demand", 60_000)
    assert (stored["max_retries"], stored["retry"]["initial_ms"]) == (2, 1000)
    assert (await api.get(f"{JOBS}/{job['id']}/executions"))["items"] == []
    run = await api.post(f"{LAB}/{job['id']}/run", 202)
    assert list(run) == ["job_id", "run_id"]
    assert run["job_id"] == job["id"]
    await executed(store, Succeeded(result=b"1"))
    assert (await api.get(f"/api/v1/executions/{run['run_id']}"))["status"] == "COMPLETED"
    assert (await shown(api, job))["status"] == "completed"


async def test_a_job_with_any_other_schedule_runs_by_itself(api: Api) -> None:
    job = await api.post(LAB, 201, json={"schedule": "2001-01-01T00:00:00Z"})
    [execution] = (await api.get(f"{JOBS}/{job['id']}/executions"))["items"]
    assert execution["fire_time"] == "2001-01-01T00:00:00Z"


async def test_attempts_and_backoff_of_a_job_with_a_schedule_are_settings(ports: ApiPorts) -> None:
    defaults = Defaults(max_attempts=5, backoff_base=timedelta(milliseconds=100), backoff_max=timedelta(seconds=2))
    async with calling(create_app(ports, defaults=defaults)) as api:
        job = await native(api, await api.post(LAB, 201, json={"schedule": "now"}))
        assert (job["max_retries"], job["retry"]["initial_ms"], job["retry"]["max_ms"]) == (4, 100, 2000)
        job = await native(api, await api.post(LAB, 201, json={"schedule": "now", "max_retries": 1}))
        assert job["max_retries"] == 1


async def test_each_run_is_a_new_one_unless_its_key_says_otherwise(api: Api) -> None:
    job = await api.post(LAB, 201, json={"schedule": "now"})
    path, header = f"{LAB}/{job['id']}/run", {"Idempotency-Key": "k"}
    runs = [await api.post(path, 202) for _ in range(2)] + [await api.post(path, 202, headers=header) for _ in range(2)]
    assert len({run["run_id"] for run in runs}) == 3
    noted = (await api.get("/api/v1/audit", params={"job_id": job["id"]}))["items"]
    assert [entry["action"] for entry in noted] == ["job.trigger"] * 3 + ["job.create"]


async def test_a_repeated_key_creates_nothing(api: Api) -> None:
    header = {"Idempotency-Key": "k"}
    first = await api.post(LAB, 201, json={"name": "n"}, headers=header)
    assert (await api.post(LAB, 200, json={"name": "n"}, headers=header))["id"] == first["id"]
    assert (await api.post(LAB, 409, json={"name": "m"}, headers=header))["error"] == "idempotency_conflict"


@pytest.mark.parametrize(("method", "end"), [("DELETE", ""), ("POST", "/cancel")])
async def test_a_waiting_job_that_is_cancelled_never_runs(api: Api, method: str, end: str) -> None:
    job = await api.post(LAB, 201)
    for _ in range(2):
        assert (await api.ask(method, f"{LAB}/{job['id']}{end}", 202)).json()["status"] == "cancelled"
    assert (await shown(api, job))["status"] == "cancelled"
    noted = (await api.get("/api/v1/audit", params={"job_id": job["id"]}))["items"]
    assert [entry["action"] for entry in noted] == ["job.cancel", "job.create"]


async def test_a_running_job_that_is_cancelled_is_told_to_stop(api: Api, store: SqliteStore) -> None:
    job = await api.post(LAB, 201)
    attempt = await claimed(store)
    assert (await api.post(f"{LAB}/{job['id']}/cancel", 202))["status"] == "running"
    run = await store.views.run(attempt.run_id)
    assert run is not None
    assert run.cancelling


async def test_a_recurring_job_that_is_cancelled_is_gone(api: Api) -> None:
    job = await api.post(LAB, 201, json={"cron": NEVER})
    assert (await api.ask("DELETE", f"{LAB}/{job['id']}", 202)).json()["status"] == "cancelled"
    await api.get(f"{LAB}/{job['id']}", 404)


async def test_a_job_that_has_ended_can_not_be_cancelled(api: Api, store: SqliteStore) -> None:
    job = await api.post(LAB, 201)
    await executed(store, Succeeded(result=b"1"))
    assert (await api.post(f"{LAB}/{job['id']}/cancel", 409))["error"] == "wrong_state"


async def test_what_there_is_not_is_not_found(api: Api) -> None:
    for method, end in (("GET", ""), ("DELETE", ""), ("POST", "/run"), ("POST", "/cancel")):
        await api.ask(method, f"{LAB}/{uuid4()}{end}", 404)


async def test_jobs_of_another_owner_do_not_exist(api: Api, store: SqliteStore) -> None:
    job = await api.post(LAB, 201, headers={"X-User-ID": "ann"})
    key, _ = await stored_key(store, "ben")
    for method, end in (("GET", ""), ("DELETE", ""), ("POST", "/run"), ("POST", "/cancel")):
        await api.ask(method, f"{LAB}/{job['id']}{end}", 404, headers=bearer(key))
