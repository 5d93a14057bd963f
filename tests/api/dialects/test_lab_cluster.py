"""`/stats` and `/workers`."""

from typing import Any

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.testing.factories import a_session
from tests.api.calling import JOBS, Api, claimed, executed

NOTHING = {"pending": 0, "running": 0, "completed": 0, "failed": 0, "cancelled": 0, "paused": 0}


async def stats(api: Api, **options: Any) -> Any:
    return await api.get("/stats", **options)


async def test_an_empty_lab_has_zeros_for_every_word(api: Api) -> None:
    assert await stats(api) == {"queue_length": 0, "active_workers": 0, "jobs_by_status": NOTHING}


async def test_jobs_are_counted_by_their_words_and_only_what_is_due_is_queued(api: Api, store: SqliteStore) -> None:
    for outcome in (Succeeded(result=b"1"), Failed(error="no", permanent=True)):
        await api.post("/jobs", 201)
        await executed(store, outcome)
    cancelled = await api.post("/jobs", 201, json={"delay_seconds": 3600})
    await api.ask("DELETE", f"/jobs/{cancelled['id']}", 202)
    await api.post("/jobs", 201)
    await claimed(store)
    await api.post("/jobs", 201)
    await api.post("/jobs", 201, json={"delay_seconds": 3600})
    recurring = [await api.post("/jobs", 201, json={"cron": "@yearly"}) for _ in range(2)]
    await api.post(f"{JOBS}/{recurring[0]['id']}/pause", 200)
    told = await stats(api)
    counts = {"pending": 3, "running": 1, "completed": 1, "failed": 1, "cancelled": 1, "paused": 1}
    assert told["jobs_by_status"] == counts
    assert told["queue_length"] == 1


async def test_runs_of_one_job_do_not_count_as_jobs(api: Api, store: SqliteStore) -> None:
    job = await api.post("/jobs", 201, json={"schedule": "now"})
    for _ in range(2):
        await api.post(f"/jobs/{job['id']}/run", 202)
        await executed(store, Succeeded(result=b"1"))
    assert (await stats(api))["jobs_by_status"] == {**NOTHING, "completed": 1}


async def test_a_named_owner_sees_its_own(api: Api) -> None:
    await api.post("/jobs", 201, headers={"X-User-ID": "ann"})
    for owner, count in (("ann", 1), ("ben", 0)):
        told = await stats(api, headers={"X-User-ID": owner})
        assert (told["queue_length"], told["jobs_by_status"]["pending"]) == (count, count)


async def test_live_workers_are_listed(api: Api, store: SqliteStore) -> None:
    assert await api.get("/workers") == []
    await store.sessions.open(a_session(name="worker-1", capacity=4))
    [worker] = await api.get("/workers")
    assert list(worker) == ["worker_id", "id", "status", "last_heartbeat", "current_jobs", "capacity"]
    assert (worker["worker_id"], worker["id"], worker["current_jobs"], worker["capacity"]) == (
        "worker-1",
        "worker-1",
        0,
        4,
    )
    assert (await stats(api))["active_workers"] == 1
