"""Requests as spans, and the traces that runs carry away from them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from unittest.mock import AsyncMock
from uuid import UUID

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import JobId, RunId
from mainspring.domain.outcome import Failed
from mainspring.errors import StoreUnavailable
from tests.api.calling import JOBS, Api, calling, executed
from tests.api.collecting import read
from tests.tracing import OTHER, PARENT, TRACE, KeptTracing, parent_of, place_of


@pytest.fixture
def tracing() -> KeptTracing:
    return KeptTracing()


@pytest.fixture
async def traced(ports: ApiPorts, tracing: KeptTracing) -> AsyncIterator[Api]:
    async with calling(create_app(replace(ports, tracing=tracing))) as api:
        yield api


async def trace_of(store: SqliteStore, run_id: str) -> str | None:
    run = await store.views.run(RunId(UUID(run_id)))
    assert run is not None
    return run.task.trace


async def test_a_request_is_a_child_of_the_span_that_it_names(traced: Api, tracing: KeptTracing) -> None:
    await traced.ask("GET", f"{JOBS}/{UUID(int=7)}", 404, headers={"traceparent": PARENT})
    [span] = tracing.spans
    assert (span.name, span.kind, parent_of(span)) == (f"GET {JOBS}/{{job_id}}", SpanKind.SERVER, PARENT)
    assert span.attributes is not None
    assert (span.attributes["http.route"], span.attributes["http.response.status_code"]) == (f"{JOBS}/{{job_id}}", 404)
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("header", ["", "nonsense", PARENT[:-3], f"00-{'0' * 32}-{'0' * 16}-01", "ff" + PARENT[2:]])
async def test_what_is_no_traceparent_begins_a_trace(traced: Api, tracing: KeptTracing, header: str) -> None:
    await traced.ask("GET", JOBS, 200, headers={"traceparent": header})
    [span] = tracing.spans
    assert parent_of(span) is None


async def test_a_caller_that_nobody_traces_is_obeyed(traced: Api, tracing: KeptTracing, store: SqliteStore) -> None:
    unsampled = PARENT[:-1] + "0"
    job = await traced.post(JOBS, 201, json={"handler": "test.echo"}, headers={"traceparent": unsampled})
    assert tracing.spans == ()
    carried = await trace_of(store, job["id"])
    assert carried is not None
    assert (carried[3:35], carried[-2:]) == (TRACE, "00")


async def test_a_store_that_is_away_is_a_failed_span(ports: ApiPorts, tracing: KeptTracing) -> None:
    views = AsyncMock()
    views.now.side_effect = StoreUnavailable("away")
    async with calling(create_app(replace(ports, views=views, tracing=tracing))) as api:
        await api.get("/api/v1/health", 503)
    [span] = tracing.spans
    assert span.status.status_code is StatusCode.ERROR


async def test_probes_are_not_traced(traced: Api, tracing: KeptTracing) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        await traced.ask("GET", path, 200)
    assert tracing.spans == ()


async def test_runs_that_are_stored_together_carry_their_own_requests(
    traced: Api, tracing: KeptTracing, store: SqliteStore
) -> None:
    jobs = await asyncio.gather(
        *(
            traced.post(JOBS, 201, json={"handler": "test.echo"}, headers={"traceparent": parent})
            for parent in (PARENT, OTHER, PARENT)
        )
    )
    carried = [await trace_of(store, job["id"]) for job in jobs]
    assert len(set(carried)) == 3
    assert {place_of(span) for span in tracing.spans} == set(carried)
    assert [trace and trace[3:35] for trace in carried] == [PARENT[3:35], OTHER[3:35], PARENT[3:35]]


async def test_all_of_a_batch_carry_its_request(traced: Api, tracing: KeptTracing, store: SqliteStore) -> None:
    batch = await traced.post(f"{JOBS}/batch", 201, json={"jobs": [{"handler": "test.echo"}] * 3})
    [span] = tracing.spans
    assert [await trace_of(store, job["id"]) for job in batch["items"]] == [place_of(span)] * 3


async def test_a_standing_job_carries_no_trace_but_what_triggers_it_does(
    traced: Api, tracing: KeptTracing, store: SqliteStore
) -> None:
    job = await traced.submitted(schedule="on-demand")
    record = await store.views.job(JobId(UUID(job["id"])))
    assert record is not None
    assert record.job.task.trace is None
    triggered = await traced.post(f"{JOBS}/{job['id']}/trigger", 202)
    assert await trace_of(store, triggered["id"]) == place_of(tracing.spans[-1])


async def test_a_requeued_dead_letter_goes_on_with_whoever_requeued_it(
    traced: Api, tracing: KeptTracing, store: SqliteStore
) -> None:
    await traced.submitted()
    attempt = await executed(store, Failed(error="no", permanent=True))
    again = await traced.post(f"/api/v1/dead-letter/{attempt.run_id}/requeue", 202)
    assert await trace_of(store, again["id"]) == place_of(tracing.spans[-1]) != attempt.task.trace


async def test_an_edited_job_keeps_its_trace(traced: Api, tracing: KeptTracing, store: SqliteStore) -> None:
    job = await traced.submitted(schedule="in 1h")
    await traced.ask("PUT", f"{JOBS}/{job['id']}", 200, json={"payload": "other", "priority": 3})
    assert await trace_of(store, job["id"]) == place_of(tracing.spans[0])


async def test_a_slow_request_can_be_found_by_its_exemplar(traced: Api) -> None:
    await traced.ask("GET", JOBS, 200, headers={"traceparent": PARENT})
    response = await traced.ask("GET", "/metrics", 200, headers={"Accept": "application/openmetrics-text"})
    family = read(response.text, openmetrics=True)["mainspring_http_request_seconds"]
    assert list(family.exemplars.values()) == [TRACE]
