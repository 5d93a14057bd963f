"""A working system, scraped by a real Prometheus: no panel without data, no alert about something that isn't there."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from servers.prometheus import PrometheusServer
from tests.deploy.files import DASHBOARDS, DEPLOY, documents, panels
from tests.documents.starting import Started, started

PATIENCE = 60.0
_PAUSE = 0.25
RATE_INTERVAL = "15s"
LONG = "x" * 10_000
"""Longer than what is kept beside its job."""
METRIC = re.compile(r"\b(?:up|(?:jobs?|lock|http|s3|sqs|mainspring|active|scrape)_\w+)\b(?!\s*\()")


@pytest.fixture
def server(tmp_path: Path, postgres_url: str) -> Iterator[Started]:
    with started(tmp_path, "serve", "--port", "0", MAINSPRING_STORE=postgres_url) as running:
        yield running


@pytest.fixture
def prometheus(promtool: Path, server: Started, tmp_path: Path) -> Iterator[PrometheusServer]:  # noqa: ARG001 - or skip
    """As it is deployed, but that it is told where to find the server, and looks more often."""
    [configuration] = documents(DEPLOY / "prometheus" / "prometheus.yml")
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    configuration["rule_files"] = [str(DEPLOY / "prometheus" / "alerts.yml")]
    [job] = [job for job in configuration["scrape_configs"] if job["job_name"] == "mainspring"]
    del job["dns_sd_configs"]
    job["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in server.ports(1)]}]
    configuration["scrape_configs"] = [job]
    file = tmp_path / "prometheus.yml"
    with file.open("w") as text:
        YAML(typ="safe", pure=True).dump(configuration, text)
    with PrometheusServer(file) as running:
        yield running


def test_every_panel_has_data_and_every_alert_its_metrics(server: Started, prometheus: PrometheusServer) -> None:
    targets = {
        f"{path.stem}: {panel['title']}: {target['legendFormat']}": target["expr"]
        for path in DASHBOARDS
        for panel in panels(json.loads(path.read_text(encoding="utf-8")))
        for target in panel["targets"]
    }
    expressions = {name: each.replace("$__rate_interval", RATE_INTERVAL) for name, each in targets.items()}
    groups = prometheus.ask("/api/v1/rules")["data"]["groups"]
    alerts = {rule["name"]: rule["query"] for group in groups for rule in group["rules"]}
    needed = {f"{name}: {metric}": metric for name, query in alerts.items() for metric in METRIC.findall(query)}
    assert len(alerts) == 13
    assert len(needed) >= len(alerts)
    with working(server):
        empty = waited_for(prometheus, {**expressions, **needed})
    assert empty == {}
    groups = prometheus.ask("/api/v1/rules")["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}


def waited_for(prometheus: PrometheusServer, expressions: dict[str, str]) -> dict[str, str]:
    """Those that have no number in the end."""
    empty = expressions
    deadline = time.monotonic() + PATIENCE
    while empty and time.monotonic() < deadline:
        empty = {name: each for name, each in empty.items() if not has_data(prometheus.query(each))}
        time.sleep(_PAUSE)
    return empty


def has_data(series: Any) -> bool:
    """Whether there is a number; a quotient of nothing by nothing is none."""
    return any(sample["value"][1] != "NaN" for sample in series)


@contextmanager
def working(server: Started) -> Iterator[None]:
    """Somebody uses everything there is to use, over and over."""
    server.lines("process.started")
    done = Event()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.ports(1)[0]}", timeout=30) as client:
        thread = Thread(target=use_until, args=(client, done))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def use_until(client: httpx.Client, done: Event) -> None:
    while not done.wait(_PAUSE):
        use(client)


def use(client: httpx.Client) -> None:
    fails = {"handler": "test.delay", "payload": {"durationMs": 0, "shouldFail": True}}
    for job in (
        {"handler": "test.echo", "payload": LONG},
        {"handler": "test.echo", "schedule": "in 1s"},
        {**fails, "max_retries": 1, "retry": {"kind": "fixed", "initial_ms": 1}},
    ):
        client.post("/api/v1/jobs", json=job).raise_for_status()
    lock = client.post("/api/v1/locks/panel/acquire", json={"holder": "me", "ttl_ms": 5000}).raise_for_status().json()
    assert client.post("/api/v1/locks/panel/acquire", json={"holder": "you", "ttl_ms": 5000}).status_code == 409
    held = {"holder": "me", "token": lock["token"]}
    client.post("/api/v1/locks/panel/release", json=held).raise_for_status()
    assert client.get("/api/v1/jobs/nobody").is_client_error
