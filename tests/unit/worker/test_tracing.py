import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from mainspring.domain.retry import RetryPolicy
from mainspring.worker.context import Context
from mainspring.worker.flow import Snooze
from mainspring.worker.settings import WorkerPorts
from mainspring.worker.tracing import waiting_since
from tests.tracing import OTHER, PARENT, KeptTracing, parent_of, place_of
from tests.unit.worker.harness import Bench, an_attempt
from tests.unit.worker.leaps import START, leaping

ONCE = RetryPolicy(max_retries=0)


class TracedBench(Bench):
    def __init__(self) -> None:
        super().__init__()
        self.tracing = KeptTracing()

    def ports(self) -> WorkerPorts:
        return replace(super().ports(), tracing=self.tracing)


@leaping
async def test_a_run_waits_and_executes_within_the_trace_that_it_carries() -> None:
    bench = TracedBench()
    seen: list[str | None] = []

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        seen.extend((context.traceparent, bench.tracing.current()))

    bench.store.submit(trace=PARENT)
    async with bench.working():
        await bench.store.until_ended(1)
    waited, executed = bench.tracing.spans
    assert [waited.name, executed.name] == ["wait work", "execute work"]
    assert [parent_of(waited), parent_of(executed)] == [PARENT, PARENT]
    assert seen == [place_of(executed)] * 2


@leaping
async def test_a_run_without_a_trace_does_not_join_that_of_the_run_before() -> None:
    bench = TracedBench()
    bench.registry.add("work", lambda: None)
    for trace in (PARENT, None, OTHER, None):
        bench.store.submit(trace=trace)
    async with bench.working(concurrency=1):
        await bench.store.until_ended(4)
    executed = [span for span in bench.tracing.spans if span.name == "execute work"]
    assert [parent_of(span) for span in executed] == [PARENT, None, OTHER, None]


@leaping
async def test_each_attempt_says_what_came_of_it_and_only_failures_fail() -> None:
    bench = TracedBench()

    @bench.registry.handler("fails")
    async def fails() -> None:
        raise ValueError("broken\nbadly")

    @bench.registry.handler("snoozes")
    async def snoozes() -> None:
        raise Snooze(timedelta(seconds=5))

    bench.registry.add("succeeds", lambda: None)
    for handler in ("fails", "snoozes", "succeeds"):
        bench.store.submit(handler, retry=ONCE)
    async with bench.working(concurrency=1):
        await bench.store.until(lambda: len(bench.store.verdicts) == 3)
    executed = [span for span in bench.tracing.spans if span.name.startswith("execute")]
    assert [(span.attributes or {})["mainspring.outcome"] for span in executed] == ["failed", "snoozed", "succeeded"]
    assert [(span.status.status_code, span.status.description) for span in executed] == [
        (StatusCode.ERROR, "ValueError: broken"),
        (StatusCode.UNSET, None),
        (StatusCode.UNSET, None),
    ]


@leaping
async def test_a_run_that_is_stopped_by_its_timeout_ends_its_span() -> None:
    bench = TracedBench()
    bench.registry.add("work", asyncio.Event().wait)
    bench.store.submit(trace=PARENT, timeout=timedelta(seconds=1), retry=ONCE)
    async with bench.working():
        await bench.store.until_ended(1)
    [executed] = [span for span in bench.tracing.spans if span.name == "execute work"]
    assert executed.status.description == "timed out after 1 s"


def isolated_work(_: Any, context: Context) -> str | None:
    return context.traceparent


@leaping
async def test_a_child_process_is_told_where_the_trace_goes_on() -> None:
    bench = TracedBench()
    bench.registry.add("work", isolated_work, isolate=True)
    run = bench.store.submit(trace=PARENT)
    async with bench.working():
        await bench.store.until_ended(1)
    result = bench.store.ended[run].result
    assert result is not None
    assert json.loads(result) == place_of(bench.tracing.spans[-1])


@leaping
async def test_a_worker_that_traces_nothing_hands_the_trace_on_as_it_came() -> None:
    bench = Bench()
    seen: list[str | None] = []

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        seen.append(context.traceparent)

    bench.store.submit(trace=PARENT)
    async with bench.working():
        await bench.store.until_ended(1)
    assert seen == [PARENT]


@pytest.mark.parametrize(
    ("log", "since"),
    [
        (b"", START),
        (json.dumps([{"completed_at": (START + timedelta(seconds=7)).isoformat()}]).encode(), 7),
    ],
)
def test_a_run_waits_from_its_due_time_or_from_the_end_of_the_attempt_before(log: bytes, since: Any) -> None:
    expected = since if since is START else START + timedelta(seconds=since)
    assert waiting_since(an_attempt(log=log)) == expected
