"""Every request that changes something leaves one entry, and no other does."""

import asyncio
from typing import Any

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.outcome import Failed
from tests.api.calling import EXECUTIONS, JOBS, Api, executed

AUDIT = "/api/v1/audit"


async def entries(api: Api, query: str = "") -> list[Any]:
    found: list[Any] = (await api.get(AUDIT + query))["items"]
    return found


async def test_a_job_s_whole_life_is_told(api: Api) -> None:
    job = await api.submitted(schedule="@daily", name="first", payload=[1.10])
    path = f"{JOBS}/{job['id']}"
    changed = (await api.ask("PUT", path, 200, json={"name": "second"}, headers={"X-User-ID": "ann"})).json()
    await api.post(f"{path}/pause", 200)
    await api.post(f"{path}/resume", 200)
    run = await api.post(f"{path}/trigger", 202)
    await api.post(f"{path}/cancel", 202)
    await api.ask("DELETE", path, 204)
    told = (await entries(api))[::-1]
    verbs = ["create", "update", "pause", "resume", "trigger", "cancel", "delete"]
    assert [entry["action"] for entry in told] == [f"job.{verb}" for verb in verbs]
    assert {entry["subject"] for entry in told} == {f"job:{job['id']}"}
    assert [entry["actor"] for entry in told[:3]] == ["anonymous", "ann", "anonymous"]
    assert (told[0]["before"], told[0]["after"]) == (None, job)
    assert (told[1]["before"], told[1]["after"]) == (job, changed)
    assert told[4]["after"] == {"execution": run["id"]}
    assert (told[6]["before"]["id"], told[6]["after"]) == (job["id"], None)
    assert await entries(api, f"?job_id={job['id']}") == told[::-1]


async def test_reading_repeating_and_failing_leave_nothing(api: Api) -> None:
    job = await api.submitted(schedule="@daily", key="k")
    path = f"{JOBS}/{job['id']}"
    await api.get(path)
    await api.post(JOBS, 200, json={"handler": "test.echo", "schedule": "@daily", "key": "k"})
    await api.post(JOBS, 422, json={})
    await api.ask("PUT", path, 422, json={"priority": 1000})
    await api.ask("PUT", path, 200, json={"priority": job["priority"]})
    await api.ask("DELETE", path, 412, headers={"If-Match": '"9"'})
    await api.post(f"{path}/resume", 200)
    await api.post(f"{path}/cancel", 409)
    await api.post("/api/v1/schedules/preview", 200, json={"schedule": "@daily"})
    for _ in range(2):
        await api.post(f"{path}/trigger", 202, headers={"Idempotency-Key": "k"})
    assert [entry["action"] for entry in await entries(api)] == ["job.trigger", "job.create"]


async def test_executions_dead_letters_and_locks_are_told_too(api: Api, store: SqliteStore) -> None:
    jobs = [await api.submitted() for _ in range(4)]
    for _ in jobs:
        await executed(store, Failed(error="no", permanent=True))
    first, second, third, _ = (job["id"] for job in jobs)
    retry = await api.post(f"{EXECUTIONS}/{first}/retry", 202)
    await api.post(f"{EXECUTIONS}/{retry['id']}/cancel", 202)
    await api.post(f"/api/v1/dead-letter/{second}/requeue", 202)
    await api.post(f"/api/v1/dead-letter/{second}/requeue", 202)
    await api.post(f"/api/v1/dead-letter/{third}/discard", 202)
    await api.post("/api/v1/dead-letter/requeue", 202, json={})
    await api.post("/api/v1/dead-letter/requeue", 202, json={})
    await api.post("/api/v1/locks/l/acquire", 200, json={"holder": "me", "ttl_ms": 1000})
    await api.post("/api/v1/locks/l/acquire", 409, json={"holder": "you", "ttl_ms": 1000})
    told = [(entry["action"], entry["subject"]) for entry in (await entries(api, "?limit=6"))[::-1]]
    assert told == [
        ("execution.retry", f"run:{first}"),
        ("execution.cancel", f"run:{retry['id']}"),
        ("dead_letter.requeue", f"run:{second}"),
        ("dead_letter.discard", f"run:{third}"),
        ("dead_letter.requeue_matching", "dead-letter"),
        ("lock.acquire", "lock:l"),
    ]


async def test_a_batch_is_one_entry_that_names_its_jobs(api: Api) -> None:
    items = (await api.post(f"{JOBS}/batch", 201, json={"jobs": [{"handler": "test.echo"}] * 3}))["items"]
    [entry] = await entries(api)
    assert entry["action"] == "job.create_batch"
    assert entry["after"] == {"count": 3, "jobs": [job["id"] for job in items]}


async def test_a_long_payload_is_left_to_the_job(api: Api) -> None:
    await api.submitted(payload="x" * 20_000)
    [entry] = await entries(api)
    assert entry["after"]["payload"] == "left out"


async def test_entries_are_paged_by_cursor(api: Api) -> None:
    for _ in range(5):
        await api.submitted()
    first = await api.get(f"{AUDIT}?limit=3")
    second = await api.get(f"{AUDIT}?limit=3&cursor={first['next']}")
    assert [entry["number"] for entry in first["items"] + second["items"]] == [5, 4, 3, 2, 1]
    assert second["next"] is None


async def test_entries_are_chained_afterwards_and_the_chain_holds(api: Api, store: SqliteStore) -> None:
    await asyncio.gather(*(api.submitted(name=str(number)) for number in range(20)))
    assert [entry["digest"] for entry in await entries(api)] == [None] * 20
    await store.audit.chain(100)
    assert all(len(entry["digest"]) == 64 for entry in await entries(api))
    assert await store.audit.verify() is None


async def test_the_entry_is_written_before_the_answer(api: Api, store: SqliteStore) -> None:
    for number in range(1, 4):
        await api.submitted()
        newest = await store.audit.page(owner=None, job_id=None, before=None, limit=10)
        assert len(newest) == number
