"""What ended when, in equal steps; and the handlers that a job may name."""

from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.timeline import _waiting
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.domain.run import Run, State
from mainspring.testing.factories import a_session
from tests.api.calling import Api, executed

PATH = "/api/v1/metrics/timeline"
MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)


async def test_what_ended_stands_in_the_step_in_which_it_ended(api: Api, store: SqliteStore) -> None:
    await api.submitted()
    await executed(store, Succeeded())
    await api.submitted(max_retries=0)
    await executed(store, Failed(error="no"))
    await api.submitted()
    timeline = await api.get(PATH, params={"window": "10m", "steps": 5})
    assert (timeline["complete"], timeline["step_ms"], len(timeline["items"])) == (True, 120_000, 5)
    ended = [step for step in timeline["items"] if any(step["by_status"].values())]
    assert sum(step["by_status"]["COMPLETED"] for step in ended) == 1
    assert sum(step["by_status"]["FAILED"] for step in ended) == 1
    assert all(step["lateness_ms"]["p95"] >= step["lateness_ms"]["p50"] >= 0 for step in ended)
    assert all(step["duration_ms"]["p95"] >= 0 for step in ended)
    assert timeline["items"][0]["lateness_ms"] == {"p50": None, "p95": None}


async def test_what_is_due_waits_in_each_step_until_it_begins(api: Api, store: SqliteStore) -> None:
    await api.submitted()
    await executed(store, Succeeded())
    for schedule in ("now", "in 1h"):
        await api.submitted(schedule=schedule)
    timeline = await api.get(PATH, params={"window": "10m", "steps": 5})
    assert (timeline["items"][0]["waiting"], timeline["items"][-1]["waiting"]) == (0, 1)


@pytest.mark.parametrize(
    ("due", "begun", "waiting"),
    [
        (0, None, [1, 1, 1]),
        (1, 3, [0, 1, 0]),
        (1, 2, [0, 0, 0]),
        (2, 3, [0, 1, 0]),
        (3, None, [0, 0, 1]),
        (5, 6, [0] * 3),
    ],
)
def test_it_waits_from_the_moment_it_is_due_until_the_moment_it_begins(
    due: int, begun: int | None, waiting: list[int]
) -> None:
    """At second 0, 2 and 4."""
    begin, end = [None if second is None else MIDNIGHT + timedelta(seconds=second) for second in (due, begun)]
    run = Mock(Run, attempt=1, state=State.RUNNING, due_at=begin, started_at=end)
    assert _waiting([run], [MIDNIGHT + timedelta(seconds=second) for second in (0, 2, 4)]) == waiting


def test_what_was_skipped_never_waited() -> None:
    run = Mock(Run, attempt=0, state=State.SKIPPED, due_at=MIDNIGHT, started_at=None, finished_at=None)
    assert _waiting([run], [MIDNIGHT, MIDNIGHT + timedelta(seconds=1)]) == [0, 0]


async def test_steps_begin_where_they_began_when_asked_before(api: Api) -> None:
    first, second = [(await api.get(PATH, params={"window": "4d", "steps": 4}))["items"] for _ in range(2)]
    assert [step["at"][10:] for step in first] == ["T00:00:00Z"] * 4
    assert {step["at"] for step in first} & {step["at"] for step in second}


async def test_one_job_s_executions_can_be_seen_alone(api: Api, store: SqliteStore) -> None:
    job = await api.submitted()
    await executed(store, Succeeded())
    await api.submitted()
    await executed(store, Succeeded())
    timeline = await api.get(PATH, params={"steps": 2, "job_id": job["id"]})
    assert sum(step["by_status"]["COMPLETED"] for step in timeline["items"]) == 1


async def test_a_job_that_isn_t_there_has_none(api: Api) -> None:
    await api.get(PATH, 404, params={"job_id": "00000000-0000-7000-8000-000000000000"})


@pytest.mark.parametrize("query", [{"steps": 0}, {"steps": 401}, {"window": "1x"}, {"unknown": 1}])
async def test_what_makes_no_sense_is_refused(api: Api, query: dict[str, str | int]) -> None:
    await api.get(PATH, 422, params=query)


async def test_handlers_are_those_built_in_and_those_that_a_worker_has_had(api: Api, store: SqliteStore) -> None:
    await store.sessions.open(a_session("worker-7", handlers={"mine.own": "special"}))
    handlers = {each["name"]: each for each in (await api.get("/api/v1/handlers"))["items"]}
    assert handlers["test.echo"] == {"name": "test.echo", "lane": "default", "builtin": True, "registered": False}
    assert handlers["mine.own"] == {"name": "mine.own", "lane": "special", "builtin": False, "registered": True}
