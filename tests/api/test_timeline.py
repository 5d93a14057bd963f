"""What ended when, in equal steps; and the handlers that a job may name."""

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.testing.factories import a_session
from tests.api.calling import Api, executed

PATH = "/api/v1/metrics/timeline"


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
    assert handlers["test.echo"] == {"name": "test.echo", "lane": "default", "builtin": True}
    assert handlers["mine.own"] == {"name": "mine.own", "lane": "special", "builtin": False}
