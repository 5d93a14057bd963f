"""Updating and deleting jobs, and the tags that keep people from overwriting each other."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.caller import labelled
from mainspring.api.document import Document
from mainspring.api.editing import Editing
from mainspring.domain.outcome import Cancelled, Succeeded
from mainspring.errors import StoreUnavailable, VersionConflict
from mainspring.ports.sessions import News
from mainspring.ports.views import JobRecord
from mainspring.testing.factories import Factory
from tests.api.calling import JOBS, Api, claimed, executed, settled

LATER = "in 1h"


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("schedule", ["@every 1h", "on-demand", LATER])
async def test_an_update_changes_what_is_sent_and_nothing_else(api: Api, method: str, schedule: str) -> None:
    job = await api.submitted(schedule=schedule, payload=[1], name="before", retry={"kind": "fixed"})
    response = await api.ask(
        method, f"{JOBS}/{job['id']}", 200, json={"name": "after", "priority": 90, "retry": {"jitter": 0.5}}
    )
    changed = response.json()
    differing = {name for name in job if job[name] != changed[name]}
    assert differing <= {"name", "priority", "retry", "version", "updated_at"}
    assert changed["retry"] == {**job["retry"], "jitter": 0.5}
    assert (changed["name"], changed["priority"], changed["version"]) == ("after", 90, job["version"] + 1)
    assert await api.get(f"{JOBS}/{job['id']}") == changed


async def test_a_payload_is_replaced_by_its_own_text(api: Api) -> None:
    job = await api.submitted(schedule=LATER)
    for payload in (b'{"z": 1.10, "a": 12345678901234567890}', b'"' + b"x" * 5000 + b'"'):
        body = b'{"payload": ' + payload + b"}"
        headers = {"Content-Type": "application/json"}
        response = await api.ask("PUT", f"{JOBS}/{job['id']}", 200, content=body, headers=headers)
        assert b'"payload":' + payload in response.content


async def test_a_new_schedule_counts_from_now(api: Api) -> None:
    for before, after in (("@every 5h", "@every 1h"), ("in 5h", "in 1h")):
        job = await api.submitted(schedule=before)
        changed = (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"schedule": after})).json()
        wait = datetime.fromisoformat(changed["next_run_time"]) - datetime.now(UTC)
        assert timedelta(minutes=50) < wait <= timedelta(hours=1)
        again = (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"schedule": after, "name": "x"})).json()
        assert again["next_run_time"] == changed["next_run_time"]


async def test_what_was_read_may_be_sent_back_whole(api: Api) -> None:
    job = await api.submitted(schedule="@daily", starts_at="2030-01-01T00:00:00Z", timezone="Europe/Berlin")
    assert (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json=job)).json() == job


@pytest.mark.parametrize(
    ("schedule", "change", "field"),
    [
        ("@daily", {"key": "mine"}, "key"),
        ("@daily", {"id": "other"}, "id"),
        ("@daily", {"owner": "other"}, "owner"),
        ("@daily", {"status": "PAUSED"}, "status"),
        ("@daily", {"colour": 1}, "colour"),
        ("@daily", {"priority": 101}, "priority"),
        ("@daily", {"retry": {"kind": "never"}}, "retry.kind"),
        ("@daily", {"retry": None}, "retry"),
        ("@daily", {"handler": "nobody.knows"}, "handler"),
        ("@daily", {"schedule": "now"}, "schedule"),
        ("@daily", {"schedule": "nonsense"}, "schedule"),
        (LATER, {"schedule": "@daily"}, "schedule"),
        (LATER, {"project_id": "other"}, "project_id"),
    ],
)
async def test_what_cannot_be_changed_is_named(api: Api, schedule: str, change: dict[str, Any], field: str) -> None:
    job = await api.submitted(schedule=schedule)
    problem = (await api.ask("PUT", f"{JOBS}/{job['id']}", 422, json=change)).json()
    assert field in [problem.get("field"), *(fault["field"] for fault in problem.get("errors", []))]
    assert await api.get(f"{JOBS}/{job['id']}") == job


async def test_a_new_handler_brings_its_lane_unless_one_is_given(api: Api) -> None:
    job = await api.submitted(schedule="@daily")
    moved = (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"handler": "slow.one"})).json()
    assert moved["lane"] == "slow"
    kept = (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"handler": "test.echo", "lane": "own"})).json()
    assert kept["lane"] == "own"
    own = (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"lane": None})).json()
    assert own["lane"] == "default"


async def test_a_one_shot_that_runs_or_has_ended_stays_as_it_is(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    attempt = await claimed(store)
    for _ in range(2):
        problem = (await api.ask("PUT", f"{JOBS}/{job['id']}", 409, json={"name": "late"})).json()
        assert problem["error"] == "wrong_state"
        await settled(store, attempt, Succeeded())


async def test_an_update_of_a_running_job_is_for_later_runs(api: Api, store: SqliteStore) -> None:
    job = await api.submitted(schedule="on-demand", payload=1)
    await api.post(f"{JOBS}/{job['id']}/trigger", 202)
    attempt = await claimed(store)
    await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"payload": 2})
    assert attempt.task.payload == b"1"
    await settled(store, attempt, Succeeded())
    await api.post(f"{JOBS}/{job['id']}/trigger", 202)
    assert (await claimed(store)).task.payload == b"2"


@pytest.mark.parametrize("schedule", ["@daily", LATER])
async def test_the_tag_of_another_version_is_refused(api: Api, schedule: str) -> None:
    job = await api.submitted(schedule=schedule)
    path = f"{JOBS}/{job['id']}"
    stale = (await api.ask("GET", path, 200)).headers["ETag"]
    for match in (stale, '"2"', f'"7", W/{stale}', "*"):
        current = await api.get(path)
        header = {"If-Match": match.replace('"2"', f'"{current["version"]}"').replace(stale, f'"{current["version"]}"')}
        await api.ask("PUT", path, 200, json={"name": match}, headers=header)
    for method, suffix in (("PUT", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
        body: dict[str, Any] = {"json": {"name": "x"}} if method in ("PUT", "PATCH") else {}
        for wrong in (stale, '"99"', "nonsense", "3"):
            response = await api.ask(method, path + suffix, 412, headers={"If-Match": wrong}, **body)
            assert response.json()["error"] == "precondition_failed"
    await api.ask("DELETE", path, 204, headers={"If-Match": "*"})


async def test_nothing_new_is_not_sent_again(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    path = f"{JOBS}/{job['id']}"
    tag = (await api.ask("GET", path, 200)).headers["ETag"]
    response = await api.ask("GET", path, 304, headers={"If-None-Match": f'"other", {tag}'})
    assert (response.content, response.headers["ETag"]) == (b"", tag)
    await executed(store, Succeeded())
    await api.ask("GET", path, 200, headers={"If-None-Match": tag})


async def test_two_people_with_one_tag_cannot_both_change_it(api: Api) -> None:
    job = await api.submitted(schedule="@daily")
    path, headers = f"{JOBS}/{job['id']}", {"If-Match": '"1"'}
    changes = (api.client.put(path, json={"name": name}, headers=headers) for name in ("one", "two", "three"))
    statuses = sorted(response.status_code for response in await asyncio.gather(*changes))
    assert statuses == [200, 412, 412]


@pytest.mark.parametrize("schedule", ["@every 1h", "on-demand", LATER, "now"])
async def test_a_deleted_job_is_gone(api: Api, schedule: str) -> None:
    job = await api.submitted(schedule=schedule, key="k")
    path = f"{JOBS}/{job['id']}"
    response = await api.ask("DELETE", path, 204)
    assert response.content == b""
    for asked in ("GET ", "DELETE ", "GET /executions", "POST /trigger", "POST /pause"):
        method, suffix = asked.split(" ")
        await api.ask(method, path + suffix, 404)
    assert (await api.get(JOBS))["items"] == []
    problem = await api.post(JOBS, 409, json={"handler": "test.echo", "schedule": schedule, "key": "k"})
    assert "deleted" in problem["detail"]


async def test_deleting_a_job_cancels_what_waits_and_runs(api: Api, store: SqliteStore) -> None:
    job = await api.submitted(schedule="on-demand")
    running = await api.post(f"{JOBS}/{job['id']}/trigger", 202)
    attempt = await claimed(store)
    waiting = await api.post(f"{JOBS}/{job['id']}/trigger", 202)
    await api.ask("DELETE", f"{JOBS}/{job['id']}", 204)
    assert (await api.get(f"/api/v1/executions/{waiting['id']}"))["status"] == "CANCELLED"
    await settled(store, attempt, Cancelled())
    assert (await api.get(f"/api/v1/executions/{running['id']}"))["status"] == "CANCELLED"


async def test_a_running_one_shot_is_hidden_at_once_and_stopped(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    attempt = await claimed(store)
    await api.ask("DELETE", f"{JOBS}/{job['id']}", 204)
    await api.ask("GET", f"{JOBS}/{job['id']}", 404)
    heard = await store.sessions.beat(attempt.session, News(executing=1))
    assert heard is not None
    assert heard.cancelling == {attempt.run_id}
    await settled(store, attempt, Succeeded())
    assert (await api.get("/api/v1/executions"))["items"] == []


def edits(job: JobRecord, saved: object) -> tuple[Editing, AsyncMock]:
    store = AsyncMock()
    store.job.return_value = job
    store.run.return_value = None
    store.now.return_value = datetime.now(UTC)
    store.save.side_effect = saved
    store.runs.return_value.items, store.runs.return_value.next = [], None
    return Editing(work=store, timetable=store, views=store, blobs=store, lanes=store), store


async def test_a_tick_in_between_is_no_reason_to_fail() -> None:
    job = Factory().job()
    editing, store = edits(JobRecord(job=job, run=None), [VersionConflict("ticked"), job])
    await editing.update(job.id, Document({"name": "new"}, None), labelled(None).check_handler)
    assert store.save.await_args.args[0].name == "new"
    editing, store = edits(JobRecord(job=job, run=None), [VersionConflict("ticked"), job])
    await editing.delete(job.id)
    assert store.save.await_count == 2


async def test_a_job_that_never_stands_still_is_given_up() -> None:
    job = Factory().job()
    editing, _ = edits(JobRecord(job=job, run=None), VersionConflict("changed"))
    for doing in (
        editing.update(job.id, Document({"name": "new"}, None), labelled(None).check_handler),
        editing.delete(job.id),
    ):
        with pytest.raises(StoreUnavailable, match="try again"):
            await doing


async def test_a_one_shot_that_somebody_else_edits_is_read_again(api: Api) -> None:
    job = await api.submitted(schedule=LATER)
    path = f"{JOBS}/{job['id']}"
    names = [str(number) for number in range(4)]
    changes = (api.client.put(path, json={"name": name}) for name in names)
    assert {response.status_code for response in await asyncio.gather(*changes)} == {200}
    assert (await api.get(path))["version"] == 5


async def test_a_whole_number_may_be_written_with_a_fraction_of_nothing(api: Api) -> None:
    job = await api.submitted(priority=7.0, retry={"initial_ms": 2e3}, schedule="in 1h")
    assert (repr(job["priority"]), job["retry"]["initial_ms"]) == ("7", 2000)
    problem = await api.post(JOBS, 422, json={"handler": "test.echo", "priority": 7.5, "max_retries": 1.0})
    assert "priority" in {fault["field"] for fault in problem["errors"]}
    assert (await api.post(JOBS, 422, json={"handler": "test.echo", "priority": 1e300}))["error"] == "invalid"


async def test_a_wrong_body_comes_before_a_wrong_version(api: Api) -> None:
    job = await api.submitted(schedule="in 1h")
    path, stale = f"{JOBS}/{job['id']}", {"If-Match": '"77"'}
    for body in ({"name": None}, {"nonsense": 1}, {"priority": 101}):
        await api.ask("PUT", path, 422, json=body, headers=stale)
    await api.ask("PUT", path, 422, headers=stale)
    await api.ask("PUT", path, 412, json={"name": "x"}, headers=stale)
