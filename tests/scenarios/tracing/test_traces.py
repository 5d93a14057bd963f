"""One trace from a client's own span to the webhook's receiver, over real processes and a real protocol."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider

from mainspring.client import Client
from tests.scenarios.handlers.receiver import receiving
from tests.scenarios.serve.processes import embedded, mainspring
from tests.scenarios.tracing.collector import Collector, collecting

HANDLERS = """
import asyncio
from mainspring import handler
from opentelemetry import trace

def note(name):
    with trace.get_tracer("handlers").start_as_current_span(name):
        pass

@handler("work.loop")
async def loop(): note("in the loop")

@handler("work.thread")
def thread(): note("in a thread")

@handler("work.child", isolate=True)
def child(payload, context): return context.traceparent

@handler("work.fails")
async def fails(): raise ValueError("broken")
"""


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    async with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        monkeypatch.setenv("MAINSPRING_TRACING", "1")
        yield collector


async def test_a_webhook_is_called_within_the_trace_of_whoever_submitted_it(
    tmp_path: Path, collector: Collector
) -> None:
    place = embedded(tmp_path)
    async with (
        receiving() as receiver,
        mainspring(place, "api", "--port", "0") as api,
        mainspring(place, "worker"),
        Client(await api.url()) as client,
    ):
        with TracerProvider().get_tracer("shop").start_as_current_span("checkout") as checkout:
            job = await client.submit("http.webhook", {"url": receiver.url})
        await client.result(job)
        names = ("POST /api/v1/jobs", "store add", "wait http.webhook", "execute http.webhook", "POST")
        spans = await collector.named(*names)
    request, add, wait, execute, call = (spans[name] for name in names)
    own = checkout.get_span_context()
    assert {span.trace_id for span in spans.values()} == {f"{own.trace_id:032x}"}
    assert request.parent_id == f"{own.span_id:016x}"
    assert {add.parent_id, wait.parent_id, execute.parent_id} == {request.span_id}
    assert (request.service, add.service) == ("mainspring-api", "mainspring-api")
    assert (wait.service, execute.service) == ("mainspring-worker", "mainspring-worker")
    assert (request.kind, execute.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CONSUMER)
    assert (call.parent_id, call.kind, call.service) == (execute.span_id, Span.SPAN_KIND_CLIENT, "mainspring-worker")
    assert (call.attributes["http.response.status_code"], call.failed) == (200, False)
    assert wait.ended <= execute.began <= execute.ended
    assert execute.attributes["mainspring.run_id"] == str(job.id)
    assert execute.attributes["mainspring.outcome"] == "succeeded"
    [received] = receiver.requests
    assert received.headers["traceparent"].startswith(f"00-{call.trace_id}-{call.span_id}-")


async def test_handlers_are_within_their_span_wherever_they_run(tmp_path: Path, collector: Collector) -> None:
    (tmp_path / "handlers.py").write_text(HANDLERS)
    async with (
        mainspring(embedded(tmp_path), "serve", "--port", "0", "--app", "handlers") as running,
        Client(await running.url()) as client,
    ):
        for handler in ("work.loop", "work.thread", "work.fails"):
            await client.submit(handler, max_retries=0, allow_unknown_handler=True)
        told = await client.result(await client.submit("work.child", allow_unknown_handler=True))
        standing = await client.schedule("work.loop", "@every 1s", allow_unknown_handler=True)
        executed = [f"execute work.{each}" for each in ("loop", "thread", "child", "fails")]
        spans = await collector.named("in the loop", "in a thread", "fire work.loop", *executed)
        fired = spans["fire work.loop"]
        everything = await collector.until(
            lambda seen: any(each.parent_id == fired.span_id and each.name == executed[0] for each in seen)
        )
    child = spans["execute work.child"]
    assert told.startswith(f"00-{child.trace_id}-{child.span_id}-")
    by_id = {span.span_id: span for span in everything}
    assert by_id[spans["in the loop"].parent_id].name == "execute work.loop"
    assert by_id[spans["in a thread"].parent_id].name == "execute work.thread"
    assert [name for name in executed if spans[name].failed] == ["execute work.fails"]
    assert (fired.parent_id, fired.attributes["mainspring.job_id"]) == ("", str(standing.id))
