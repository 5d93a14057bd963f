"""Every name and label that collectors were promised, in both formats."""

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app, create_probes
from mainspring.api.exposition import OPENMETRICS, TEXT, format_for
from mainspring.api.measurements import Measurements
from mainspring.api.metric_aliases import ALIASES
from mainspring.api.ports import ApiPorts
from mainspring.domain.outcome import Failed, HandedBack, Succeeded
from mainspring.testing.factories import Factory, a_session
from mainspring.wiring.measuring import MeasuredAttempts, MeasuredStore
from tests.api.calling import Api, calling, executed
from tests.api.collecting import Read, read

# What was promised: kind and labels. Other labels would split series that somebody adds up, or join.
PROMISED = {
    "jobs_processed_total": ("counter", {"status"}),
    "jobs_in_progress": ("gauge", set()),
    "job_duration_seconds": ("histogram", set()),
    "jobs_dlq_total": ("counter", set()),
    "lock_lwt_latency_seconds": ("histogram", set()),
    "lock_operations_total": ("counter", {"operation", "result"}),
    "http_requests_total": ("counter", {"method", "path", "status"}),
    "jobs_executed_total": ("counter", {"status"}),
    "job_execution_duration_seconds": ("histogram", set()),
    "s3_operations_total": ("counter", {"operation"}),
    "sqs_enqueue_duration_seconds": ("histogram", set()),
    "jobs_scheduled_total": ("counter", {"job_type"}),
    "jobs_completed_total": ("counter", {"status"}),
    "jobs_failed_total": ("counter", set()),
    "jobs_pending_total": ("gauge", {"job_type"}),
    "active_workers_total": ("gauge", set()),
    "job_retries_total": ("counter", set()),
    "job_queue_wait_seconds": ("histogram", set()),
}
OF_ONE_PROCESS = {
    "job_duration_seconds",
    "job_execution_duration_seconds",
    "lock_lwt_latency_seconds",
    "lock_operations_total",
    "http_requests_total",
    "s3_operations_total",
    "sqs_enqueue_duration_seconds",
}
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def measurements() -> Measurements:
    return Measurements()


@pytest.fixture
def measured(ports: ApiPorts, store: SqliteStore, measurements: Measurements) -> ApiPorts:
    over = MeasuredStore.over(store, measurements, SystemClock())
    return replace(ports, work=over.work, locks=over.locks, blobs=over.blobs, measurements=measurements)


async def scraped(api: Api, accept: str = "*/*") -> dict[str, Read]:
    response = await api.ask("GET", "/metrics", 200, headers={"Accept": accept})
    openmetrics = response.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert openmetrics or response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return read(response.text, openmetrics=openmetrics)


def as_text_names(families: dict[str, Read]) -> dict[str, Read]:
    return {name + "_total" if family.kind == "counter" else name: family for name, family in families.items()}


async def test_the_api_shows_every_name_with_its_kind_and_labels(measured: ApiPorts) -> None:
    async with calling(create_app(measured)) as api:
        await api.submitted()
        plain = await scraped(api)
        openmetrics = await scraped(api, PROMETHEUS)
    for families in (plain, as_text_names(openmetrics)):
        found = {name: (families[name].kind, families[name].labels) for name in PROMISED}
        assert found == PROMISED
        others = [name for name in families if name not in PROMISED]
        assert others
        assert [name for name in others if not name.startswith("mainspring_")] == []


async def test_the_reference_describes_every_name(measured: ApiPorts) -> None:
    async with calling(create_app(measured)) as api:
        families = await scraped(api)
    assert [name for name in families if f"`{name}`" not in PAGE] == []


async def test_another_role_shows_what_happens_in_it_and_nothing_of_the_cluster(measured: ApiPorts) -> None:
    async with calling(create_probes(measured)) as api:
        await api.ask("GET", "/healthz", 200)
        families = await scraped(api)
    assert {name for name in families if not name.startswith("mainspring_")} == OF_ONE_PROCESS
    assert "mainspring_store_up" not in families


async def test_an_alias_says_what_its_source_says(measured: ApiPorts, store: SqliteStore) -> None:
    async with calling(create_app(measured)) as api:
        for outcome in (Succeeded(), Failed(error="no", permanent=True)):
            await api.submitted()
            await executed(store, outcome)
        cancelled = await api.submitted(schedule="in 1h")
        await api.post(f"/api/v1/jobs/{cancelled['id']}/cancel", 202)
        await api.submitted(payload="x" * 5000)
        families = await scraped(api)
    for name in ("jobs_processed_total", "jobs_executed_total"):
        values = {dict(labels)["status"]: value for (_, labels), value in families[name].samples.items()}
        assert values == {"success": 1, "failed": 1}
    assert families["jobs_completed_total"].value("jobs_completed_total", status="cancelled") == 1
    assert families["jobs_dlq_total"].value("jobs_dlq_total") == 1
    assert families["s3_operations_total"].value("s3_operations_total", operation="upload") == 1
    assert families["sqs_enqueue_duration_seconds"].value("sqs_enqueue_duration_seconds_count") == 4
    assert {alias.of for alias in ALIASES.values()} <= set(families)


async def test_a_requeued_dead_letter_has_been_one_all_the_same(measured: ApiPorts, store: SqliteStore) -> None:
    async with calling(create_app(measured)) as api:
        await api.submitted()
        attempt = await executed(store, Failed(error="no", permanent=True))
        await api.post(f"/api/v1/dead-letter/{attempt.run_id}/requeue", 202)
        families = await scraped(api)
    assert families["jobs_dlq_total"].value("jobs_dlq_total") == 1
    assert families["mainspring_dead_letters"].value("mainspring_dead_letters") == 0


async def test_locks_are_counted_by_what_came_of_them(measured: ApiPorts, store: SqliteStore) -> None:
    body = {"holder": "me", "ttl_ms": 60_000}
    async with calling(create_app(measured)) as api:
        held = await api.post("/api/v1/locks/door/acquire", 200, json=body)
        await api.post("/api/v1/locks/door/acquire", 409, json={**body, "holder": "you"})
        token = {"holder": "me", "token": held["token"]}
        await api.post("/api/v1/locks/door/renew", 200, json={**token, "ttl_ms": 60_000})
        for _ in range(2):
            await api.client.post("/api/v1/locks/door/release", json=token)
        await store.locks.acquire("window", "somebody", timedelta(0))
        await api.post("/api/v1/locks/window/acquire", 200, json={**body, "holder": "you"})
        families = await scraped(api)
    counted = families["lock_operations_total"]
    assert {
        (dict(labels)["operation"], dict(labels)["result"]): value for (_, labels), value in counted.samples.items()
    } == {
        **dict.fromkeys(product(("acquire", "takeover", "renew", "release"), ("ok", "refused", "error")), 0),
        ("acquire", "ok"): 1,
        ("acquire", "refused"): 1,
        ("takeover", "ok"): 1,
        ("renew", "ok"): 1,
        ("release", "ok"): 1,
        ("release", "refused"): 1,
    }
    assert families["lock_lwt_latency_seconds"].value("lock_lwt_latency_seconds_count") == 6


async def test_attempts_leave_their_trace_in_the_bucket_that_they_fell_into(
    ports: ApiPorts, store: SqliteStore, measurements: Measurements
) -> None:
    session = await store.sessions.open(a_session())
    runs = [Factory().run(trace=f"00-{TRACE}-b7ad6b7169203331-01"), Factory(seed=1).run()]
    await store.work.add(runs)
    attempts = (await store.work.claim(session, [runs[0].task.lane], 2)).attempts
    observer = MeasuredAttempts(measurements)
    for attempt in attempts:
        observer.ended(attempt, Succeeded(), timedelta(seconds=2).total_seconds())
    observer.ended(attempts[0], HandedBack(), 50.0)
    async with calling(create_app(replace(ports, measurements=measurements))) as api:
        family = (await scraped(api, PROMETHEUS))["job_duration_seconds"]
        attempted = (await scraped(api))["mainspring_attempts_total"]
    assert family.value("job_duration_seconds_count") == 2
    [((_, labels), trace)] = family.exemplars.items()
    assert (dict(labels)["le"], trace) == ("2.5", TRACE)
    assert attempted.value("mainspring_attempts_total", handler="test.echo", outcome="handed_back") == 1


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (PROMETHEUS, OPENMETRICS),
        ("application/openmetrics-text", OPENMETRICS),
        ("Application/OpenMetrics-Text; version=1.0.0, text/plain; q=0.9", OPENMETRICS),
        ("text/plain, application/openmetrics-text; q=0.5", TEXT),
        ("application/openmetrics-text; q=0", TEXT),
        ("application/openmetrics-text; q=much", TEXT),
        ("text/html,*/*", TEXT),
        ("", TEXT),
    ],
)
def test_the_collector_chooses_the_format(accept: str, wanted: object) -> None:
    assert format_for(accept) is wanted


def test_the_page_lists_each_metric_once() -> None:
    names = [
        name for row in re.findall(r"^\| (`[^|]*`) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    ]
    assert len(names) > len(PROMISED)
    assert not [name for name, times in Counter(names).items() if times > 1]
