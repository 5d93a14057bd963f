"""Executions: their attempts, cancelling them and trying them again."""

import asyncio
import json
from datetime import timedelta

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.outcome import Cancelled, Failed, HandedBack, Lost, Outcome, Snoozed, Succeeded
from mainspring.domain.suspects import EXPIRED, WAITS, waiting_lane
from mainspring.ports.output import Printed
from mainspring.testing.factories import a_session
from tests.api.calling import EXECUTIONS, JOBS, Api, claimed, executed, settled

NOTHING = "00000000-0000-7000-8000-000000000000"
AT_ONCE = {"retry": {"initial_ms": 0}}


async def test_attempts_tell_the_whole_story(api: Api, store: SqliteStore) -> None:
    job = await api.submitted(**AT_ONCE)
    path = f"{EXECUTIONS}/{job['id']}/attempts"
    assert (await api.get(path))["items"] == []
    await executed(store, Failed(error="first"))
    await executed(store, Snoozed(delay=timedelta(0)))
    attempt = await claimed(store)
    running = (await api.get(path))["items"]
    assert [(each["attempt"], each["outcome"]) for each in running] == [(1, "failed"), (2, "snoozed"), (3, "running")]
    assert running[2]["completed_at"] is None
    await settled(store, attempt, Succeeded())
    ended = (await api.get(path))["items"]
    assert ended[:2] == running[:2]
    assert (ended[2]["outcome"], ended[2]["worker_id"], ended[0]["error"]) == ("succeeded", "worker-1", "first")
    assert [each["token"] for each in ended] == sorted(each["token"] for each in ended)
    assert ended[2]["duration_ms"] >= 0
    assert ended[0]["started_at"].endswith("Z")


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([Failed(error="no", permanent=True)], ["failed"]),
        ([Lost()] * 3, ["lost"] * 3),
        ([Failed(error="no"), Cancelled()], ["failed", "cancelled"]),
    ],
)
async def test_the_last_attempt_says_how_it_ended(
    api: Api, store: SqliteStore, outcomes: list[Outcome], expected: list[str]
) -> None:
    job = await api.submitted(**AT_ONCE)
    for outcome in outcomes:
        await executed(store, outcome)
    items = (await api.get(f"{EXECUTIONS}/{job['id']}/attempts"))["items"]
    assert [each["outcome"] for each in items] == expected


async def test_a_run_that_was_cancelled_while_it_waited_was_not_tried_once_more(api: Api, store: SqliteStore) -> None:
    job = await api.submitted(retry={"initial_ms": 60_000})
    await executed(store, Failed(error="no"))
    await api.post(f"{EXECUTIONS}/{job['id']}/cancel", 202)
    assert len((await api.get(f"{EXECUTIONS}/{job['id']}/attempts"))["items"]) == 1


async def test_a_single_execution_shows_its_result_and_output(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    attempt = await claimed(store)
    await store.output.write([Printed(run_id=attempt.run_id, fence=attempt.fence, head=b"hello\n", length=6)])
    long = json.dumps("x" * 5000).encode()
    await settled(store, attempt, Succeeded(blob=await store.blobs.put(long)))
    execution = await api.get(f"{EXECUTIONS}/{job['id']}")
    assert (execution["result"], execution["output"]) == ("x" * 5000, "hello\n")
    [listed] = (await api.get(EXECUTIONS))["items"]
    assert (listed["result"], listed["output"]) == (None, None)


async def test_executions_are_found_by_status_worker_and_handler(api: Api, store: SqliteStore) -> None:
    done = await api.submitted(priority=100)
    await executed(store, Succeeded())
    waiting = await api.submitted()
    slow = await api.submitted(handler="slow.one")
    for query, expected in (
        ("status=COMPLETED", [done]),
        ("status=PENDING", [slow, waiting]),
        ("worker=worker-1", [done]),
        ("handler=slow.one", [slow]),
        ("handler=slow.one&status=COMPLETED", []),
        ("status=SKIPPED", []),
    ):
        found = (await api.get(f"{EXECUTIONS}?{query}"))["items"]
        assert [each["id"] for each in found] == [each["id"] for each in expected], query


async def test_pages_of_executions_follow_each_other(api: Api) -> None:
    made = [(await api.submitted())["id"] for _ in range(5)]
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = await api.get(f"{EXECUTIONS}?limit=2{cursor and '&cursor='}{cursor}")
        seen += [each["id"] for each in page["items"]]
        cursor = page["next"]
    assert seen == made[::-1]


async def test_what_waits_is_cancelled_at_once_and_what_runs_is_told(api: Api, store: SqliteStore) -> None:
    waiting = await api.submitted(schedule="in 1h")
    assert (await api.post(f"{EXECUTIONS}/{waiting['id']}/cancel", 202))["status"] == "CANCELLED"
    running = await api.submitted()
    attempt = await claimed(store)
    for _ in range(2):
        assert (await api.post(f"{EXECUTIONS}/{running['id']}/cancel", 202))["status"] == "RUNNING"
    await settled(store, attempt, Failed(error="stopped"))
    assert (await api.get(f"{EXECUTIONS}/{running['id']}"))["status"] == "CANCELLED"
    for ended in (waiting, running):
        assert (await api.post(f"{EXECUTIONS}/{ended['id']}/cancel", 409))["error"] == "wrong_state"


@pytest.mark.parametrize("outcome", [Failed(error="no", permanent=True), Cancelled()])
async def test_a_retry_is_a_new_execution_that_names_the_old_one(
    api: Api, store: SqliteStore, outcome: Outcome
) -> None:
    job = await api.submitted(payload=[1], priority=7)
    await executed(store, outcome)
    before = await api.get(f"{EXECUTIONS}/{job['id']}")
    response = await api.ask("POST", f"{EXECUTIONS}/{job['id']}/retry", 202)
    new = response.json()
    assert response.headers["Location"] == f"{EXECUTIONS}/{new['id']}"
    assert (new["retry_of"], new["job_id"], new["status"], new["priority"]) == (job["id"], job["id"], "PENDING", 7)
    assert await api.get(f"{EXECUTIONS}/{new['id']}") == new
    assert await api.get(f"{EXECUTIONS}/{job['id']}") == before
    assert (await claimed(store)).task.payload == b"[1]"
    assert (await api.get("/api/v1/dead-letter"))["items"] == []


async def test_a_repeated_key_retries_once(api: Api, store: SqliteStore) -> None:
    jobs = [await api.submitted() for _ in range(2)]
    for _ in jobs:
        await executed(store, Failed(error="no", permanent=True))
    key = {"Idempotency-Key": "k"}
    answers = await asyncio.gather(
        *(api.post(f"{EXECUTIONS}/{jobs[0]['id']}/retry", 202, headers=key) for _ in range(3))
    )
    assert len({answer["id"] for answer in answers}) == 1
    conflict = await api.post(f"{EXECUTIONS}/{jobs[1]['id']}/retry", 409, headers=key)
    assert conflict["error"] == "idempotency_conflict"
    fresh = [await api.post(f"{EXECUTIONS}/{jobs[0]['id']}/retry", 202) for _ in range(2)]
    assert fresh[0]["id"] != fresh[1]["id"]


async def test_only_what_has_failed_or_was_cancelled_is_tried_again(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    path = f"{EXECUTIONS}/{job['id']}/retry"
    assert (await api.post(path, 409))["error"] == "wrong_state"
    attempt = await claimed(store)
    await api.post(path, 409)
    await settled(store, attempt, Succeeded())
    await api.post(path, 409)


@pytest.mark.parametrize("asked", ["GET ", "GET /attempts", "POST /cancel", "POST /retry"])
async def test_an_execution_that_never_was_is_not_found(api: Api, asked: str) -> None:
    method, suffix = asked.split(" ")
    await api.ask(method, f"{EXECUTIONS}/{NOTHING}{suffix}", 404)


async def test_a_job_lists_its_own_executions_only(api: Api) -> None:
    job = await api.submitted(schedule="on-demand")
    await api.submitted()
    run = await api.post(f"{JOBS}/{job['id']}/trigger", 202)
    assert [each["id"] for each in (await api.get(f"{JOBS}/{job['id']}/executions"))["items"]] == [run["id"]]


async def test_a_suspect_says_why_it_waits_and_is_counted_as_such(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    for _ in range(2):
        await executed(store, Lost(shared=EXPIRED))
    [execution] = (await api.get("/api/v1/executions"))["items"]
    assert (execution["status"], execution["reason"]) == ("PENDING", WAITS)
    figures = await api.get("/api/v1/metrics")
    assert (figures["suspects"], figures["waiting"]) == (1, 1)
    assert {group["lane"] for group in figures["by_group"]} == {"default"}
    assert (await api.get(f"{JOBS}/{job['id']}"))["lane"] == "default"


async def test_a_suspect_that_was_handed_back_says_that_too(api: Api, store: SqliteStore) -> None:
    await api.submitted()
    for _ in range(2):
        await executed(store, Lost(shared=EXPIRED))
    session = await store.sessions.open(a_session())
    lane = waiting_lane(DEFAULT_LANE, suspect=True)
    [attempt] = (await store.work.claim(session, [lane], 1)).attempts
    await settled(store, attempt, HandedBack(reason="the worker was shut down"))
    [execution] = (await api.get("/api/v1/executions"))["items"]
    assert execution["reason"] == f"{WAITS} (the worker was shut down)"


async def test_a_suspect_that_died_is_retried_like_any_other(api: Api, store: SqliteStore) -> None:
    await api.submitted()
    for _ in range(2):
        await executed(store, Lost(shared=EXPIRED))
    session = await store.sessions.open(a_session())
    for _ in range(3):
        lane = waiting_lane(DEFAULT_LANE, suspect=True)
        [attempt] = (await store.work.claim(session, [lane], 1)).attempts
        await settled(store, attempt, Lost())
    [letter] = (await api.get("/api/v1/dead-letter"))["items"]
    await api.post(f"/api/v1/dead-letter/{letter['id']}/requeue", 202)
    assert not (await claimed(store)).suspect
