"""An owner with a quota of five asks for more by every door, one after the other and all at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.attack.conftest import Did
from tests.attack.target import EXECUTIONS, JOBS, Target, attacked
from tests.scenarios.serve.processes import PATIENCE, embedded

QUOTA = 5
AT_ONCE = 60
DEAD = 8
LIVE = frozenset({"PENDING", "RUNNING"})
LATER = {"handler": "test.echo", "schedule": "in 1h"}
OWNER = {"X_User_ID": "default"}


@asynccontextmanager
async def bounded(tmp_path: Path) -> AsyncIterator[Target]:
    """A server with the quota and without a worker: what is accepted stays."""
    async with attacked(embedded(tmp_path), "--quota-waiting", str(QUOTA), role="api") as target:
        yield target


async def live(target: Target) -> int:
    found = await target.everything(EXECUTIONS)
    return sum(each["status"] in LIVE for each in found)


async def assert_refused(target: Target, path: str, body: Any) -> None:
    status, text = await target.ask("POST", path, body, **OWNER)
    assert (status, "quota_exceeded" in text) == (429, True), (path, status, text)


async def test_a_batch_is_counted_whole(tmp_path: Path) -> None:
    async with bounded(tmp_path) as target:
        await assert_refused(target, f"{JOBS}/batch", {"jobs": [LATER] * (QUOTA + 1)})
        assert await live(target) == 0
        await target.post(f"{JOBS}/batch", {"jobs": [LATER] * (QUOTA - 1)})
        await assert_refused(target, f"{JOBS}/batch", {"jobs": [LATER] * 2})
        await target.post(f"{JOBS}/batch", {"jobs": [LATER]})
        await assert_refused(target, JOBS, LATER)
        assert await live(target) == QUOTA


async def test_dead_letters_that_are_requeued_by_a_filter_are_counted(tmp_path: Path) -> None:
    dying = {"handler": "test.delay", "payload": {"durationMs": 1, "shouldFail": True}, "max_retries": 0}
    async with attacked(embedded(tmp_path)) as target:
        died = [await target.submitted(**dying) for _ in range(DEAD)]
        assert {(await target.ended(each))["status"] for each in died} == {"FAILED"}
    async with bounded(tmp_path) as target:
        await assert_refused(target, "/api/v1/dead-letter/requeue", {"handler": "test.delay"})
        assert await live(target) == 0
        requeued = [target.ask("POST", f"/api/v1/dead-letter/{each}/requeue") for each in died[: DEAD // 2]]
        retried = [target.ask("POST", f"{EXECUTIONS}/{each}/retry") for each in died[DEAD // 2 :]]
        answers = await asyncio.gather(*requeued, *retried)
        assert {status for status, _ in answers} == {202, 429}, answers
        await assert_quota_is_used_up(target)


IN_THE_GATE = ("native", "batches")
DOORS: Mapping[str, Callable[[str], tuple[str, Any]]] = {
    "native": lambda _: (JOBS, LATER),
    "batches": lambda _: (f"{JOBS}/batch", {"jobs": [LATER] * 2}),
    "lab": lambda _: ("/jobs", {"name": "n", "job_type": "delayed", "delay_seconds": 3600}),
    "users": lambda _: ("/submit", {"project_id": "p", "payload": "x", "next_fire_at": "2999-01-01T00:00:00Z"}),
    "trigger": lambda job: (f"{JOBS}/{job}/trigger", None),
    "lab's run": lambda job: (f"/jobs/{job}/run", None),
}


@pytest.mark.parametrize(
    "door", [pytest.param(door, marks=() if door in IN_THE_GATE else pytest.mark.attack) for door in DOORS]
)
async def test_many_at_once_are_no_more_than_one_after_the_other(tmp_path: Path, door: str, did: Did) -> None:
    async with bounded(tmp_path) as target:
        job = str((await target.post(JOBS, {"handler": "test.echo", "schedule": "on-demand"}))["id"])
        path, body = DOORS[door](job)
        answers = await asyncio.gather(*(target.ask("POST", path, body, **OWNER) for _ in range(AT_ONCE)))
        statuses = {status for status, _ in answers}
        assert 429 in statuses, answers[:3]
        assert statuses <= {200, 201, 202, 429}, answers
        assert await live(target) <= QUOTA
        await assert_quota_is_used_up(target)
        did(requests=target.requests)


async def assert_quota_is_used_up(target: Target) -> None:
    """Whatever was left is had by single requests, if not at once, and not one more."""
    refused = False
    async with asyncio.timeout(PATIENCE):
        while not refused:
            status, text = await target.ask("POST", JOBS, LATER)
            assert status in (201, 429), text
            count = await live(target)
            assert count <= QUOTA
            refused = status == 429 and count == QUOTA
    assert await live(target) == QUOTA


async def test_a_schedule_fires_although_its_owner_has_used_up_the_quota(tmp_path: Path) -> None:
    async with attacked(embedded(tmp_path), "--quota-waiting", str(QUOTA)) as target:
        recurring = str((await target.post(JOBS, {"handler": "test.echo", "schedule": "@every 1s"}))["id"])
        while (await target.ask("POST", JOBS, LATER, **OWNER))[0] != 429:
            pass
        before = len(await target.everything(f"{JOBS}/{recurring}/executions"))
        async with asyncio.timeout(30):
            while len(await target.everything(f"{JOBS}/{recurring}/executions")) < before + 2:  # noqa: ASYNC110
                await asyncio.sleep(0.2)


@pytest.mark.parametrize("path", [JOBS, f"{JOBS}/batch"])
async def test_a_key_that_was_used_before_adds_nothing_and_is_answered(tmp_path: Path, path: str) -> None:
    jobs = [{**LATER, "key": f"once-{number}"} for number in range(QUOTA)]
    async with bounded(tmp_path) as target:
        first = await target.post(f"{JOBS}/batch", {"jobs": jobs})
        await assert_quota_is_used_up(target)
        again = await target.post(path, {"jobs": jobs} if path.endswith("batch") else jobs[0])
        ids, repeated = ([item["id"] for item in answer.get("items", [answer])] for answer in (first, again))
        assert repeated == ids[: len(repeated)]
        assert await live(target) == QUOTA
