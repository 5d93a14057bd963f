"""Other names that `/api/v1` understands for the same fields."""

from typing import Any

import pytest

from tests.api.calling import JOBS, Api

LATER, LATEST = "2030-01-31T09:00:00Z", "2031-01-31T09:00:00Z"
NAMED = {"handler": "test.echo", "jobId": "job-1", "scheduleTimeJobs": LATER}


async def test_a_job_that_is_sent_twice_under_its_own_id_is_one(api: Api) -> None:
    first = await api.post(JOBS, 201, json=NAMED)
    assert (first["key"], first["schedule"], first["next_run_time"]) == ("job-1", LATER, LATER)
    assert (await api.post(JOBS, 200, json=NAMED))["id"] == first["id"]
    assert (await api.post(JOBS, 409, json={**NAMED, "payload": 1}))["error"] == "idempotency_conflict"


async def test_its_time_can_be_changed_under_the_same_name(api: Api) -> None:
    job = await api.post(JOBS, 201, json=NAMED)
    changed = (await api.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"scheduleTimeJobs": LATEST})).json()
    assert (changed["schedule"], changed["next_run_time"]) == (LATEST, LATEST)


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_two_names_for_one_field_are_one_too_many(api: Api, method: str) -> None:
    job = await api.post(JOBS, 201, json=NAMED)
    both: dict[str, Any] = {"handler": "test.echo", "schedule": LATER, "scheduleTimeJobs": LATER}
    path = JOBS if method == "POST" else f"{JOBS}/{job['id']}"
    assert "scheduleTimeJobs" in (await api.ask(method, path, 422, json=both)).text
