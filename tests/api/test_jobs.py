from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import DEFAULT_LANE, JobId
from mainspring.domain.outcome import Failed, Succeeded, judge
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.retry import RetryPolicy
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import a_session
from tests.api.calling import EXECUTIONS, Api, calling, claimed, settled

JOBS = "/api/v1/jobs"
LONG_AGO = "2001-01-01T00:00:00Z"
TOO_LATE = "9997-01-01T00:00:00Z"


async def post(client: aiohttp.ClientSession, path: str, status: int, **options: Any) -> dict[str, Any]:
    async with client.post(path, **options) as response:
        assert response.status == status, await response.text()
        body: dict[str, Any] = await response.json(content_type=None)
        return body


async def get(client: aiohttp.ClientSession, path: str, status: int = 200) -> dict[str, Any]:
    async with client.get(path) as response:
        assert response.status == status, await response.text()
        body: dict[str, Any] = await response.json(content_type=None)
        return body


async def submitted(client: aiohttp.ClientSession, **fields: Any) -> dict[str, Any]:
    return await post(client, JOBS, 201, json={"handler": "test.echo", **fields})


async def execute(store: SqliteStore, outcome: Succeeded | Failed) -> None:
    """Do what a worker does to the best waiting run."""
    session = await store.sessions.open(a_session())
    [attempt] = (await store.work.claim(session, [DEFAULT_LANE], 1)).attempts
    await store.work.settle([judge(attempt, outcome, now=datetime.now(UTC), uniform=0.0)])
    await store.sessions.close(session)


async def test_a_job_without_a_schedule_is_a_run_that_is_due_now(client: aiohttp.ClientSession) -> None:
    job = await submitted(client, name="hello", payload={"a": 1})
    assert (job["status"], job["schedule"], job["name"]) == ("SCHEDULED", "now", "hello")
    execution = await get(client, f"/api/v1/executions/{job['id']}")
    assert (execution["job_id"], execution["status"], execution["attempt"]) == (job["id"], "PENDING", 0)
    assert await get(client, f"{JOBS}/{job['id']}") == job


async def test_the_answer_says_where_the_job_is(client: aiohttp.ClientSession) -> None:
    async with client.post(JOBS, json={"handler": "test.echo"}) as response:
        assert response.headers["Location"] == f"{JOBS}/{(await response.json())['id']}"


async def test_a_job_has_every_field_of_the_contract(client: aiohttp.ClientSession) -> None:
    job = await submitted(client, schedule="0 6 * * 1-5", timezone="Europe/Berlin", key="k", overlap="skip")
    assert list(job) == [
        *("id", "key", "name", "description", "handler", "payload", "schedule", "timezone", "starts_at", "priority"),
        *("max_retries", "retry", "timeout_ms", "lane", "misfire", "overlap", "dst", "allow_unknown_handler", "owner"),
        *("project_id", "status", "next_run_time", "created_at", "updated_at", "version"),
    ]
    assert (job["key"], job["overlap"], job["timezone"], job["priority"]) == ("k", "skip", "Europe/Berlin", 50)
    assert job["next_run_time"].endswith("Z")
    assert job["retry"] == {"kind": "exponential", "initial_ms": 1000, "max_ms": 60_000, "jitter": 0.0}


async def test_the_fields_of_a_one_shot_survive(client: aiohttp.ClientSession) -> None:
    job = await submitted(client, schedule="in 1h", description="once", misfire={"policy": "all"})
    assert (job["schedule"], job["description"], job["misfire"]["policy"]) == ("in 1h", "once", "all")
    assert job["status"] == "SCHEDULED"


@pytest.mark.parametrize("filler", ["", "x" * 5000], ids=["inline", "in a blob"])
async def test_a_payload_is_kept_byte_for_byte(client: aiohttp.ClientSession, filler: str) -> None:
    payload = f'{{"b": 1.10,  "a":\t[1e400, 12345678901234567890, "\\u00e9é{filler}"]}}'
    body = f'{{"payload" : {payload} , "handler":"test.echo"}}'
    headers = {"Content-Type": "application/json"}
    async with client.post(JOBS, data=body.encode(), headers=headers) as response:
        assert response.status == 201
        assert payload.encode() in await response.read()


async def test_a_repeated_key_answers_with_the_first_job(client: aiohttp.ClientSession) -> None:
    first = await submitted(client, key="order-1", payload={"a": 1, "b": 2})
    again = await post(
        client,
        JOBS,
        200,
        json={"payload": {"b": 2, "a": 1}, "handler": "test.echo"},
        headers={"Idempotency-Key": "order-1"},
    )
    assert again["id"] == first["id"]
    conflict = await post(client, JOBS, 409, json={"handler": "test.echo", "key": "order-1", "priority": 1})
    assert conflict["error"] == "idempotency_conflict"
    assert [job["id"] for job in (await get(client, f"{JOBS}?key=order-1"))["items"]] == [first["id"]]


async def test_a_key_belongs_to_its_owner(client: aiohttp.ClientSession) -> None:
    first = await submitted(client, key="same")
    second = await post(
        client, JOBS, 201, json={"handler": "test.echo", "key": "same"}, headers={"X-User-ID": "somebody"}
    )
    assert (first["owner"], second["owner"]) == ("default", "somebody")


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "invalid", "handler"),
        ({"handler": "test.echo", "colour": 1}, "invalid", "colour"),
        ({"handler": "test.echo", "priority": "50"}, "invalid", "priority"),
        ({"handler": "test.echo", "priority": 101}, "invalid", "priority"),
        ({"handler": "test.echo", "max_retries": True}, "invalid", "max_retries"),
        ({"handler": "test.echo", "name": "a\u0000b"}, "invalid", "name"),
        ({"handler": "test.echo", "retry": {"kind": "random"}}, "invalid", "retry.kind"),
        ({"handler": "test.echo", "starts_at": LONG_AGO}, "invalid", "starts_at"),
        ({"handler": "test.echo", "schedule": "@hourly", "starts_at": "tomorrow"}, "invalid", "starts_at"),
        ({"handler": "test.echo", "schedule": "0 6 31 2 *"}, "invalid_schedule", "schedule"),
        ({"handler": "test.echo", "schedule": ""}, "invalid_schedule", "schedule"),
        ({"handler": "test.echo", "schedule": " \t"}, "invalid_schedule", "schedule"),
        ({"handler": "test.echo", "scheduleTimeJobs": ""}, "invalid_schedule", "schedule"),
        ({"handler": "test.echo", "schedule": "0 0 29 2 *", "starts_at": TOO_LATE}, "invalid_schedule", "starts_at"),
        ({"handler": "test.echo", "schedule": "@hourly", "timezone": "Mars/Base"}, "invalid_schedule", None),
        ({"handler": "nobody.knows"}, "unknown_handler", "handler"),
    ],
)
async def test_what_is_wrong_is_refused_by_name(
    client: aiohttp.ClientSession, body: dict[str, Any], code: str, field: str | None
) -> None:
    problem = await post(client, JOBS, 422, json=body)
    fields = [problem.get("field"), *(error["field"] for error in problem.get("errors", []))]
    assert (problem["error"], problem["status"]) == (code, 422)
    assert field is None or field in fields
    assert (await get(client, JOBS))["items"] == []


async def test_a_schedule_that_would_never_fire_is_refused_at_every_door(api: Api) -> None:
    never = {"schedule": "0 0 29 2 *", "starts_at": TOO_LATE}
    fine = {"handler": "test.echo", "schedule": "0 0 29 2 *"}
    job = await api.submitted(**fine)
    refusal = await api.post(f"{JOBS}/batch", 422, json={"jobs": [fine, {"handler": "test.echo", **never}]})
    assert [error["field"] for error in refusal["errors"]] == ["jobs.1.starts_at"]
    for method, path, body in (
        ("PATCH", f"{JOBS}/{job['id']}", {"starts_at": TOO_LATE}),
        ("PATCH", f"{JOBS}/{job['id']}", {"schedule": ""}),
        ("POST", "/api/v1/schedules/preview", never),
        ("POST", "/jobs", {"schedule": " "}),
    ):
        assert (await api.ask(method, path, 422, json=body)).json()["error"] == "invalid_schedule"
    assert (await api.get(f"{JOBS}/{job['id']}")) == job


async def test_an_empty_schedule_of_a_dialect_is_none(api: Api) -> None:
    assert (await api.post("/jobs", 201, json={"schedule": "", "handler": "test.echo"}))["job_type"] == "immediate"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a":1}x', '{"a":NaN}', '{"a":1,"a":2}', "{1:2}", "\xff", '{"a":' + "[" * 100_000]
)
async def test_what_is_not_a_json_object_is_refused(client: aiohttp.ClientSession, text: str) -> None:
    headers = {"Content-Type": "application/json"}
    problem = await post(client, JOBS, 422, data=text.encode("latin-1"), headers=headers)
    assert problem["error"] == "invalid"


async def test_a_problem_document_says_so(client: aiohttp.ClientSession) -> None:
    async with client.get(f"{JOBS}/00000000-0000-7000-8000-000000000000") as response:
        assert response.status == 404
        assert response.content_type == "application/problem+json"
        assert (await response.json(content_type=None))["error"] == "not_found"


async def test_an_unknown_handler_is_taken_if_the_job_says_so(client: aiohttp.ClientSession) -> None:
    job = await submitted(client, handler="later.perhaps", allow_unknown_handler=True)
    assert (job["handler"], job["lane"], job["allow_unknown_handler"]) == ("later.perhaps", "default", True)


async def test_a_handler_that_a_worker_registered_brings_its_lane(
    client: aiohttp.ClientSession, store: SqliteStore
) -> None:
    await store.sessions.open(a_session(handlers={"mine.own": "special"}))
    assert (await submitted(client, handler="mine.own"))["lane"] == "special"
    assert (await submitted(client, handler="slow.one"))["lane"] == "slow"
    assert (await submitted(client, handler="slow.one", lane="other"))["lane"] == "other"


async def test_jobs_are_listed_newest_first_in_pages(client: aiohttp.ClientSession) -> None:
    made = [(await submitted(client, name=str(number)))["id"] for number in range(5)]
    first = await get(client, f"{JOBS}?limit=3")
    second = await get(client, f"{JOBS}?limit=3&cursor={first['next']}")
    assert [job["id"] for job in first["items"] + second["items"]] == made[::-1]
    assert second["next"] is None


async def test_jobs_are_found_by_status(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    done = await submitted(client, priority=100)
    await execute(store, Succeeded(result=b"42"))
    failed = await submitted(client, priority=100)
    await execute(store, Failed(error="no such file", permanent=True))
    waiting = await submitted(client)
    recurring = await submitted(client, schedule="@daily")
    paused = await submitted(client, schedule="@daily")
    await post(client, f"{JOBS}/{paused['id']}/pause", 200)
    expected = {
        "SCHEDULED": [recurring, waiting],
        "COMPLETED": [done],
        "FAILED": [failed],
        "PAUSED": [paused],
        "RUNNING": [],
        "CANCELLED": [],
    }
    for status, jobs in expected.items():
        found = (await get(client, f"{JOBS}?status={status}"))["items"]
        assert [job["id"] for job in found] == [job["id"] for job in jobs], status


async def test_a_query_that_does_not_exist_is_refused(client: aiohttp.ClientSession) -> None:
    assert (await get(client, f"{JOBS}?colour=red", 422))["error"] == "invalid"
    assert (await get(client, f"{JOBS}?limit=1000", 422))["error"] == "invalid"


async def test_executions_show_how_they_ended(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    await submitted(client)
    await execute(store, Succeeded(result=b'{"x": 1.50}'))
    await submitted(client, max_retries=0)
    await execute(store, Failed(error="no such file"))
    failed, done = (await get(client, "/api/v1/executions"))["items"]
    assert (done["status"], done["result"], done["attempt"]) == ("COMPLETED", {"x": 1.5}, 1)
    assert (failed["status"], failed["error"], failed["reason"]) == ("FAILED", "no such file", "retries exhausted")
    assert list(done) == [
        *("id", "job_id", "status", "reason", "retry_of", "fire_time", "skipped_to", "skipped_count"),
        *("attempt", "token", "priority", "worker_id"),
        *("scheduled_at", "started_at", "completed_at", "duration_ms", "result", "output", "error"),
    ]
    only = (await get(client, "/api/v1/executions?status=FAILED"))["items"]
    assert [run["id"] for run in only] == [failed["id"]]
    await get(client, "/api/v1/executions/00000000-0000-7000-8000-000000000000", 404)


@pytest.mark.parametrize("count", [3, None], ids=["counted", "too many to count"])
async def test_a_skipped_range_shows_its_last_fire_time_and_their_number(
    api: Api, store: SqliteStore, count: int | None
) -> None:
    job_id = JobId(UUID((await api.submitted(schedule="@every 1h"))["id"]))
    record = await store.views.job(job_id)
    assert record is not None
    first, last = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, 2, tzinfo=UTC)
    skip = Skip(job_id=job_id, first=first, last=last, count=count, reason=SkipReason.PAUSED)
    await store.timetable.save(record.job, record.job, [skip])
    [listed] = (await api.get(f"{JOBS}/{job_id}/executions"))["items"]
    assert listed == await api.get(f"{EXECUTIONS}/{listed['id']}")
    shown = [listed[name] for name in ("status", "reason", "fire_time", "skipped_to", "skipped_count")]
    assert shown == ["SKIPPED", "paused", "2030-01-01T00:00:00Z", "2030-01-01T02:00:00Z", count]


async def test_a_trigger_is_one_more_run_and_a_repeated_key_none(client: aiohttp.ClientSession) -> None:
    job = await submitted(client, schedule="on-demand", payload=[1])
    path = f"{JOBS}/{job['id']}/trigger"
    first = await post(client, path, 202)
    second = await post(client, path, 202, headers={"Idempotency-Key": "a"})
    assert await post(client, path, 202, headers={"Idempotency-Key": "a"}) == second
    assert first["id"] != second["id"]
    listed = (await get(client, f"{JOBS}/{job['id']}/executions"))["items"]
    assert {run["id"] for run in listed} == {first["id"], second["id"]}
    other = await submitted(client, schedule="on-demand")
    conflict = await post(client, f"{JOBS}/{other['id']}/trigger", 409, headers={"Idempotency-Key": "a"})
    assert conflict["error"] == "idempotency_conflict"


async def test_keys_of_jobs_triggers_and_retries_are_apart(api: Api, store: SqliteStore) -> None:
    job = await api.submitted(schedule="on-demand")
    failed = await api.submitted()
    await settled(store, await claimed(store), Failed(error="no", permanent=True))
    for purpose, path in (("trigger", f"{JOBS}/{job['id']}/trigger"), ("retry", f"{EXECUTIONS}/{failed['id']}/retry")):
        key = {"Idempotency-Key": f"{purpose}/k"}
        await api.submitted(key=f"{purpose}/k", payload=purpose)
        first = await api.post(path, 202, headers={"Idempotency-Key": "k"})
        assert (await api.post(path, 202, headers={"Idempotency-Key": "k"}))["id"] == first["id"]
        assert (await api.post(path, 202, headers=key))["id"] != first["id"]
    batch = {"jobs": [{"handler": "test.echo", "key": f"{each}/zz"} for each in ("trigger", "retry")]}
    await api.post(f"{JOBS}/batch", 201, json=batch)
    await api.post(f"{JOBS}/{job['id']}/trigger", 202, headers={"Idempotency-Key": "zz"})


async def test_a_trigger_of_a_one_shot_and_a_retry_of_its_run_are_two_under_one_key_at_one_instant(
    ports: ApiPorts, store: SqliteStore
) -> None:
    async with calling(create_app(replace(ports, clock=ManualClock()))) as api:
        job = await api.submitted()
        await settled(store, await claimed(store), Failed(error="no", permanent=True))
        triggered = await api.post(f"{JOBS}/{job['id']}/trigger", 202, headers={"Idempotency-Key": "k"})
        retried = await api.post(f"{EXECUTIONS}/{job['id']}/retry", 202, headers={"Idempotency-Key": "k"})
    assert triggered["id"] != retried["id"]


@pytest.mark.parametrize("key", ["trigger\x1fk", "a\tb", "\x7f"])
async def test_a_key_has_no_control_characters(api: Api, key: str) -> None:
    job = await api.submitted(schedule="on-demand")
    body = {"handler": "test.echo"}
    for field in ("key", "jobId"):
        refusal = await api.post(JOBS, 422, json={**body, field: key})
        assert refusal["errors"] == [{"field": field, "detail": "control characters aren't allowed"}]
    refusal = await api.post(f"{JOBS}/batch", 422, json={"jobs": [{**body, "key": key}]})
    assert refusal["errors"] == [{"field": "jobs.0.key", "detail": "control characters aren't allowed"}]
    header = {"Idempotency-Key": key}
    for path, sent in ((JOBS, body), ("/jobs", {}), (f"{JOBS}/{job['id']}/trigger", None)):
        refusal = await api.post(path, 422, json=sent, headers=header)
        assert refusal["errors"] == [{"field": "Idempotency-Key", "detail": "control characters aren't allowed"}]


async def test_a_one_shot_that_was_triggered_again_is_still_steered_by_its_own_run(
    client: aiohttp.ClientSession,
) -> None:
    job = await submitted(client, schedule="in 1h")
    await post(client, f"{JOBS}/{job['id']}/trigger", 202)
    await post(client, f"{JOBS}/{job['id']}/pause", 200)
    await post(client, f"{JOBS}/{job['id']}/resume", 200)
    await post(client, f"{JOBS}/{job['id']}/cancel", 202)
    assert {run["status"] for run in (await get(client, "/api/v1/executions"))["items"]} == {"CANCELLED"}


@pytest.mark.parametrize("schedule", ["@every 1h", "in 1h"])
async def test_pause_and_resume(client: aiohttp.ClientSession, schedule: str) -> None:
    job = await submitted(client, schedule=schedule)
    for _ in range(2):
        paused = await post(client, f"{JOBS}/{job['id']}/pause", 200)
        assert (paused["status"], paused["next_run_time"]) == ("PAUSED", None)
    for _ in range(2):
        resumed = await post(client, f"{JOBS}/{job['id']}/resume", 200)
        assert resumed["status"] == "SCHEDULED"
        assert datetime.fromisoformat(resumed["next_run_time"]) > datetime.now(UTC) + timedelta(minutes=50)


async def test_what_has_ended_can_be_neither_paused_nor_cancelled(
    client: aiohttp.ClientSession, store: SqliteStore
) -> None:
    job = await submitted(client)
    await execute(store, Succeeded())
    assert (await post(client, f"{JOBS}/{job['id']}/pause", 409))["error"] == "wrong_state"
    assert (await post(client, f"{JOBS}/{job['id']}/cancel", 409))["error"] == "wrong_state"


async def test_a_waiting_run_that_is_cancelled_never_starts(client: aiohttp.ClientSession) -> None:
    job = await submitted(client)
    assert (await post(client, f"{JOBS}/{job['id']}/cancel", 202))["status"] == "CANCELLED"


async def test_the_retry_policy_is_the_jobs_own(client: aiohttp.ClientSession, store: SqliteStore) -> None:
    await submitted(client, max_retries=7, retry={"kind": "fixed", "initial_ms": 250, "jitter": 0.5}, timeout_ms=1500)
    session = await store.sessions.open(a_session())
    [attempt] = (await store.work.claim(session, [DEFAULT_LANE], 1)).attempts
    assert attempt.task.timeout == timedelta(milliseconds=1500)
    assert attempt.task.retry == RetryPolicy(
        max_retries=7, kind=attempt.task.retry.kind, initial=timedelta(milliseconds=250), jitter=0.5
    )
