from datetime import timedelta
from unittest.mock import AsyncMock

import pytest
from opentelemetry.trace import SpanKind

from mainspring.domain.plan import DueJob, plan
from mainspring.domain.run import NewRun
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory
from mainspring.wiring.tracing import TracedTimetable, TracedWork
from tests.tracing import OTHER, PARENT, KeptTracing, parent_of, place_of


@pytest.fixture
def tracing() -> KeptTracing:
    return KeptTracing()


async def test_each_trace_in_a_batch_is_told_once_how_long_the_store_took(tracing: KeptTracing) -> None:
    clock, store, make = ManualClock(), AsyncMock(), Factory()

    async def add(items: list[NewRun], **_: bool) -> list[NewRun]:
        clock.advance(timedelta(seconds=2))
        return items

    store.add.side_effect = add
    runs = [make.run(trace=PARENT), make.run(trace=OTHER), make.run(trace=PARENT), make.run()]
    await TracedWork(store, tracing, clock).add(runs)
    assert [(span.name, parent_of(span)) for span in tracing.spans] == [("store add", PARENT), ("store add", OTHER)]
    assert [dict(span.attributes or {}) for span in tracing.spans] == [
        {"mainspring.runs": 2, "mainspring.batch_size": 4},
        {"mainspring.runs": 1, "mainspring.batch_size": 4},
    ]
    assert [(span.end_time or 0) - (span.start_time or 0) for span in tracing.spans] == [2 * 10**9] * 2


async def test_each_moment_that_fires_begins_a_trace(tracing: KeptTracing) -> None:
    clock, store = ManualClock(), AsyncMock()
    make = Factory(start=clock.now())
    job = make.job(schedule="@every 10s", fires_at=make.moment + timedelta(seconds=10))
    late = job.created_at + timedelta(seconds=20)
    await TracedTimetable(store, tracing, clock).fire([plan(DueJob(job=job, active=None), late)])
    [[advance]] = store.fire.await_args.args
    assert len(advance.runs) > 1
    assert [run.task.trace for run in advance.runs] == [place_of(span) for span in tracing.spans]
    assert {(span.kind, parent_of(span)) for span in tracing.spans} == {(SpanKind.PRODUCER, None)}
