"""Figures as JSON, and as collectors read them."""

import re
from dataclasses import replace
from unittest.mock import AsyncMock

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app, create_probes
from mainspring.api.cluster_metrics import cluster_metrics
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import Lane
from mainspring.domain.outcome import Failed, Succeeded
from mainspring.domain.run import Origin
from mainspring.errors import StoreUnavailable
from mainspring.ports.views import MOST_WAITED, WAIT_BUCKETS, Figures, Tally
from tests.api.calling import JOBS, Api, calling, claimed, executed

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})? (-?[0-9.e+-]+)')


async def busy(api: Api, store: SqliteStore) -> None:
    """One of each: completed, failed after a retry, running, waiting, scheduled for later."""
    await api.submitted(priority=100)
    await executed(store, Succeeded())
    await api.submitted(priority=90, max_retries=1, retry={"initial_ms": 0})
    await executed(store, Failed(error="no"))
    await executed(store, Failed(error="no"))
    await api.submitted(priority=80)
    await claimed(store)
    await api.submitted()
    for _ in range(3):
        await api.submitted(schedule="in 1h")


async def scraped(api: Api) -> dict[str, float]:
    response = await api.ask("GET", "/metrics", 200)
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples: dict[str, float] = {}
    for line in response.text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] + (match[2] or "") not in samples
            samples[match[1] + (match[2] or "")] = float(match[3])
    return samples


async def test_figures_are_exact(api: Api, store: SqliteStore) -> None:
    await busy(api, store)
    figures = await api.get("/api/v1/metrics")
    totals = figures["totals"]
    assert (totals["added"], totals["completed"], totals["failed"], totals["retried"]) == (7, 1, 1, 1)
    assert (figures["running"], figures["waiting"], figures["dead_letters"], totals["live"]) == (1, 4, 1, 5)
    assert {group["job_type"]: group["live"] for group in figures["by_group"]} == {"immediate": 2, "delayed": 3}
    assert {group["job_type"]: group["running"] for group in figures["by_group"]} == {"immediate": 1, "delayed": 0}
    assert (figures["workers"], figures["capacity"]) == (4, 32)


async def test_collectors_find_the_names_of_the_contract(api: Api, store: SqliteStore) -> None:
    await busy(api, store)
    samples = await scraped(api)
    for name, value in {
        'jobs_scheduled_total{job_type="immediate"}': 4,
        'jobs_scheduled_total{job_type="delayed"}': 3,
        'jobs_scheduled_total{job_type="recurring"}': 0,
        'jobs_pending_total{job_type="immediate"}': 1,
        'jobs_pending_total{job_type="delayed"}': 3,
        'jobs_completed_total{status="success"}': 1,
        'jobs_completed_total{status="failed"}': 1,
        "jobs_failed_total": 1,
        "active_workers_total": 4,
        "job_retries_total": 1,
        "jobs_in_progress": 1,
        "jobs_dlq_total": 1,
        'job_queue_wait_seconds_bucket{le="+Inf"}': 4,
        "job_queue_wait_seconds_count": 4,
        "mainspring_store_up": 1,
        f'http_requests_total{{method="POST",path="{JOBS}",status="201"}}': 7,
    }.items():
        assert samples[name] == value, name


async def test_the_sum_of_waits_lies_between_what_the_buckets_allow(api: Api, store: SqliteStore) -> None:
    await busy(api, store)
    waited = (await scraped(api))["job_queue_wait_seconds_sum"]
    tallies = (await store.views.figures()).tallies
    bounds = [0, *(bucket.total_seconds() for bucket in WAIT_BUCKETS), float("inf")]
    counts = [sum(column) for column in zip(*(tally.waits for tally in tallies), strict=True)]
    assert sum(counts) == 4
    bounded = zip(counts, bounds, bounds[1:], strict=False)
    least, most = map(sum, zip(*((count * low, count * high) for count, low, high in bounded if count), strict=True))
    assert waited > 0
    assert least <= waited <= most


def test_many_groups_that_have_waited_as_long_as_can_be_are_summed_up() -> None:
    tally = Tally(owner="o", lane=Lane("default"), origin=Origin.IMMEDIATE, waited=MOST_WAITED)
    figures = Figures(tallies=[tally] * 12, dead_letters=0)
    waits = next(each for each in cluster_metrics(figures, [], []) if each.name == "job_queue_wait_seconds")
    (waited,) = (sample.value for sample in waits.samples if sample.suffix == "_sum")
    assert waited == pytest.approx(12 * MOST_WAITED.total_seconds())


async def test_requests_are_counted_under_the_path_of_their_route(api: Api) -> None:
    job = await api.submitted()
    for name in ("a", "api", "acquire"):
        await api.post(f"/api/v1/locks/{name}/acquire", 200, json={"holder": "me", "ttl_ms": 1000})
    await api.get(f"{JOBS}/{job['id']}")
    await api.get("/api/v1/metrics")
    await api.get("/nowhere/else", 404)
    await api.client.request("BREW", JOBS)
    counted = {name: value for name, value in (await scraped(api)).items() if name.startswith("http_")}
    assert counted == {
        f'http_requests_total{{method="POST",path="{JOBS}",status="201"}}': 1,
        f'http_requests_total{{method="GET",path="{JOBS}/{{job_id}}",status="200"}}': 1,
        'http_requests_total{method="POST",path="/api/v1/locks/{name}/acquire",status="200"}': 3,
        'http_requests_total{method="GET",path="/api/v1/metrics",status="200"}': 1,
        'http_requests_total{method="GET",path="other",status="404"}': 1,
        f'http_requests_total{{method="other",path="{JOBS}",status="405"}}': 1,
    }


async def test_without_its_store_a_process_still_tells_what_it_knows(ports: ApiPorts) -> None:
    views = AsyncMock()
    views.figures.side_effect = StoreUnavailable("away")
    async with calling(create_app(replace(ports, views=views))) as api:
        samples = await scraped(api)
    assert samples["mainspring_store_up"] == 0
    assert "jobs_failed_total" not in samples


async def test_another_role_tells_about_itself_only(ports: ApiPorts) -> None:
    async with calling(create_probes(ports)) as api:
        assert not [name for name in await scraped(api) if name.startswith("jobs_")]


async def test_statistics_are_of_a_window(api: Api, store: SqliteStore) -> None:
    await busy(api, store)
    statistics = await api.get("/api/v1/metrics/executions?window=15m")
    assert (statistics["executions"], statistics["complete"], statistics["success_rate"]) == (7, True, 0.5)
    assert statistics["by_status"] == {
        "PENDING": 4,
        "RUNNING": 1,
        "COMPLETED": 1,
        "FAILED": 1,
        "CANCELLED": 0,
        "SKIPPED": 0,
    }
    assert statistics["retried"] == 1
    assert statistics["duration_ms"]["max"] >= statistics["duration_ms"]["p50"] >= 0


async def test_more_than_can_be_counted_is_said_to_be_more(
    api: Api, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await busy(api, store)
    monkeypatch.setattr("mainspring.api.statistics.MOST", 4)
    monkeypatch.setattr("mainspring.api.statistics._PAGE", 2)
    statistics = await api.get("/api/v1/metrics/executions?window=1d")
    assert (statistics["executions"], statistics["complete"]) == (4, False)


@pytest.mark.parametrize("window", ["", "1", "h", "0s", "91d", "1w", "-1h", "1h ", "99999999s", "%C2%B2h"])
async def test_a_window_that_is_none_is_refused(api: Api, window: str) -> None:
    problem = await api.get(f"/api/v1/metrics/executions?window={window}", 422)
    assert problem["field"] == "window"
