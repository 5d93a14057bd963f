"""`/submit`, `/job` and `GET /jobs`."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.domain.plan import DueJob, plan
from mainspring.ports.output import Printed
from tests.api.calling import JOBS, Api, claimed, executed, settled
from tests.api.keyed import bearer, stored_key

ANN = {"X-User-ID": "ann"}
DETAILS = [
    "job_id",
    "user_id",
    "project_id",
    "payload",
    "cron_schedule",
    "next_fire_at",
    "status",
    "created_at",
    "max_retries",
]
RUN = ["run_id", "status", "triggered_at", "completed_at", "output", "worker_id", "error_message"]
MINIMAL = {"project_id": "p", "payload": "hello"}
FUTURE = "2030-12-31T23:59:59Z"
HOUR = timedelta(hours=1)


async def submitted(api: Api, status: int = 202, **fields: Any) -> Any:
    return await api.post("/submit", status, json={**MINIMAL, **fields}, headers=ANN)


async def details(api: Api, answer: Any) -> Any:
    return await api.get("/job", params={"id": answer["job_id"]})


async def test_the_answer_says_the_words_of_the_contract(api: Api) -> None:
    answer = await submitted(api)
    assert list(answer) == ["job_id", "status", "message"]
    assert (answer["status"], answer["message"]) == ("Submitted", "Job submitted successfully")


async def test_a_minimal_job_runs_at_once_and_belongs_to_its_user(api: Api) -> None:
    job = await details(api, await submitted(api))
    assert list(job) == [*DETAILS, "runs"]
    assert (job["user_id"], job["project_id"], job["payload"]) == ("ann", "p", "hello")
    assert (job["status"], job["max_retries"], job["cron_schedule"]) == ("pending", 3, None)
    [run] = job["runs"]
    assert list(run) == RUN
    assert (run["status"], run["output"], run["worker_id"], run["error_message"]) == ("pending", None, None, None)


async def test_without_a_user_nothing_is_stored(api: Api) -> None:
    problem = await api.post("/submit", 400, json=MINIMAL)
    assert "X-User-ID" in problem["detail"]
    await api.get("/jobs", 400)
    assert (await api.get(JOBS))["items"] == []


async def test_a_key_says_whose_job_it_is(api: Api, store: SqliteStore) -> None:
    key, _ = await stored_key(store, "ben")
    await api.post("/submit", 202, json=MINIMAL, headers=bearer(key))
    [job] = await api.get("/jobs", headers=bearer(key))
    assert job["user_id"] == "ben"
    await api.ask("POST", "/submit", 403, json=MINIMAL, headers={**bearer(key), **ANN})


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"project_id": ""}, "project_id"),
        ({"payload": {"a": 1}}, "payload"),
        ({"payload": "cmd:  "}, "payload"),
        ({"cron_schedule": "61 * * * *"}, "cron_schedule"),
        ({"cron_schedule": "in 5s"}, "cron_schedule"),
        ({"next_fire_at": "tomorrow"}, "next_fire_at"),
        ({"next_fire_at": "2030-12-31T23:59:59"}, "next_fire_at"),
        ({"next_fire_at": "@hourly"}, "next_fire_at"),
        ({"max_retries": -1}, "max_retries"),
        ({"cron": "@hourly"}, "cron"),
    ],
)
async def test_what_is_wrong_is_named(api: Api, fields: Any, wrong: str) -> None:
    assert [fault["field"] for fault in (await submitted(api, 422, **fields))["errors"]] == [wrong]


@pytest.mark.parametrize("field", ["project_id", "payload"])
async def test_a_project_and_a_payload_are_required(api: Api, field: str) -> None:
    rest = {name: value for name, value in MINIMAL.items() if name != field}
    problem = await api.post("/submit", 422, json=rest, headers=ANN)
    assert [fault["field"] for fault in problem["errors"]] == [field]


async def test_a_command_becomes_a_script_and_is_shown_as_it_was_sent(api: Api) -> None:
    answer = await submitted(api, payload="cmd:echo hi\nexit 3")
    stored = await api.get(f"{JOBS}/{answer['job_id']}")
    assert (stored["handler"], stored["payload"]) == ("shell.script", "echo hi\nexit 3")
    assert (await details(api, answer))["payload"] == "cmd:echo hi\nexit 3"


async def test_commands_are_understood_here_only(api: Api) -> None:
    job = await api.post("/jobs", 201, json={"schedule": "now", "payload": "cmd:echo hi"})
    assert (await api.get(f"{JOBS}/{job['id']}"))["handler"] == "test.echo"


async def test_a_long_payload_is_whole_where_the_job_is_shown_and_left_out_of_the_list(api: Api) -> None:
    payload = "cmd:" + "x" * 100_000
    answer = await submitted(api, payload=payload)
    assert (await details(api, answer))["payload"] == payload
    [listed] = await api.get("/jobs", headers=ANN)
    assert list(listed) == [name for name in DETAILS if name != "payload"]


async def test_an_instant_is_when_it_runs_whatever_its_offset(api: Api) -> None:
    job = await details(api, await submitted(api, next_fire_at="2031-01-01T01:59:59+02:00", cron_schedule=""))
    assert (job["next_fire_at"], job["cron_schedule"], job["status"]) == (FUTURE, None, "pending")


async def test_a_recurring_job_shows_its_cron(api: Api) -> None:
    job = await details(api, await submitted(api, cron_schedule="0 0 1 1 *", next_fire_at=None))
    assert job["cron_schedule"] == "0 0 1 1 *"
    assert job["next_fire_at"].endswith("-01-01T00:00:00Z")
    assert job["runs"] == []


@pytest.mark.parametrize("cron", ["0 6 * * *", "@every 5m"])
async def test_a_recurring_job_can_begin_at_an_instant_that_its_cron_does_not_say(api: Api, cron: str) -> None:
    job = await details(api, await submitted(api, cron_schedule=cron, next_fire_at=FUTURE))
    assert (job["next_fire_at"], job["cron_schedule"]) == (FUTURE, cron)


@pytest.mark.parametrize(
    ("cron", "second"),
    [
        ("0 0 1 1 *", lambda first: datetime(first.year + 1, 1, 1, tzinfo=UTC)),
        ("@every 1h", lambda first: first + HOUR),
    ],
)
async def test_a_start_that_has_passed_is_now_and_the_cron_follows(
    api: Api, store: SqliteStore, cron: str, second: Any
) -> None:
    before = datetime.now(UTC)
    answer = await submitted(api, cron_schedule=cron, next_fire_at="2001-01-01T00:00:00Z")
    due = await store.timetable.due(1)
    [job] = due.jobs
    first = job.job.next_fire_at
    assert first is not None
    assert before <= first <= due.now
    assert await store.timetable.fire([plan(DueJob(job=job.job, active=job.active), due.now)]) == [True]
    shown = await details(api, answer)
    assert datetime.fromisoformat(shown["next_fire_at"]) == second(first)
    assert [run["status"] for run in shown["runs"]] == ["pending"]


async def test_runs_show_what_was_printed_and_what_went_wrong(api: Api, store: SqliteStore) -> None:
    answer = await submitted(api, payload="cmd:echo hi", max_retries=0)
    attempt = await claimed(store)
    assert [run["status"] for run in (await details(api, answer))["runs"]] == ["running"]
    await store.output.write([Printed(run_id=attempt.run_id, fence=attempt.fence, head=b"hi\n", length=3)])
    await settled(store, attempt, Failed(error="exit code 3"))
    job = await details(api, answer)
    [run] = job["runs"]
    assert (job["status"], run["status"], run["output"], run["error_message"]) == (
        "failed",
        "failed",
        "hi\n",
        "exit code 3",
    )
    assert run["worker_id"]
    assert run["completed_at"] is not None


async def test_only_the_latest_ten_runs_are_shown(api: Api, store: SqliteStore) -> None:
    answer = await submitted(api)
    await executed(store, Succeeded(result=b"1"))
    for _ in range(11):
        await api.post(f"/jobs/{answer['job_id']}/run", 202)
    assert [run["status"] for run in (await details(api, answer))["runs"]] == ["pending"] * 10


async def test_what_is_asked_for_must_be_named_and_there(api: Api) -> None:
    await api.get("/job", 400)
    await api.get("/job", 422, params={"id": "x"})
    await api.get("/job", 404, params={"id": str(uuid4())})


async def test_users_see_only_their_own_jobs_page_by_page(api: Api) -> None:
    mine = [(await submitted(api))["job_id"] for _ in range(3)]
    await api.post("/submit", 202, json=MINIMAL, headers={"X-User-ID": "ben"})
    response = await api.ask("GET", "/jobs?limit=2", 200, headers=ANN)
    assert [job["job_id"] for job in response.json()] == [mine[2], mine[1]]
    following = response.links["next"]["url"]
    response = await api.ask("GET", following, 200, headers=ANN)
    assert [job["job_id"] for job in response.json()] == [mine[0]]
    assert response.links == {}


async def test_a_repeated_key_submits_once(api: Api) -> None:
    headers = {**ANN, "Idempotency-Key": "k"}
    first, second = [await api.post("/submit", 202, json=MINIMAL, headers=headers) for _ in range(2)]
    assert first == second
    await api.post("/submit", 409, json={**MINIMAL, "next_fire_at": FUTURE}, headers=headers)
