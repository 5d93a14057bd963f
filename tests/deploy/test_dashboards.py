"""Grafana's files, held to Grafana's own model: nothing that it wouldn't show, or would show in the wrong place."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.deploy.files import DASHBOARDS, DEPLOY, documents, panels

COLUMNS = 24
GRAFANAS_OWN = {"__rate_interval"}
VARIABLE = re.compile(r"\$\{?(\w+)")


def read(path: Path) -> dict[str, Any]:
    dashboard: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return dashboard


@pytest.fixture(params=DASHBOARDS, ids=lambda path: path.stem)
def dashboard(request: pytest.FixtureRequest) -> dict[str, Any]:
    return read(request.param)


def test_the_documents_dashboards_and_panels_are_there() -> None:
    found = {dashboard["title"]: {panel["title"] for panel in panels(dashboard)} for dashboard in map(read, DASHBOARDS)}
    assert found.keys() == {"Job Scheduler Overview", "System Performance Metrics", "Error Rates & Latencies"}
    assert found["Job Scheduler Overview"] >= {
        "Throughput",
        "Worker Throughput",
        "Job durations",
        "Lock latency",
        "Dead-letter rate",
        "In progress against the cap",
        "Failures against successes",
    }


def test_nothing_gets_lost_in_grafanas_model(dashboard: dict[str, Any]) -> None:
    back = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    assert [panel["title"] for panel in panels(back)] == [panel["title"] for panel in panels(dashboard)]
    for before, after in zip(panels(dashboard), panels(back), strict=True):
        for name in ("type", "targets", "gridPos", "fieldConfig", "options", "datasource"):
            assert contains(after[name], before[name]), f"{before['title']}: {name}"


def contains(whole: Any, part: Any) -> bool:
    """Whether *whole* says all that *part* says; the model may add defaults, and leaves out what is null."""
    if isinstance(part, dict):
        return all(value is None or contains(whole.get(name), value) for name, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


def test_each_panel_has_an_id_a_title_and_a_description_of_its_own(dashboard: dict[str, Any]) -> None:
    for name in ("id", "title"):
        values = [panel[name] for panel in panels(dashboard)]
        assert len(values) == len(set(values))
    assert all(panel["description"] for panel in panels(dashboard))


def test_panels_lie_beside_each_other(dashboard: dict[str, Any]) -> None:
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    assert all(place["x"] + place["w"] <= COLUMNS for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)


def test_every_variable_is_defined(dashboard: dict[str, Any]) -> None:
    defined = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(VARIABLE.findall(json.dumps(dashboard["panels"])))
    assert used - GRAFANAS_OWN == defined


def test_the_data_source_that_dashboards_begin_with_is_provisioned(dashboard: dict[str, Any]) -> None:
    [provisioned] = documents(DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yml")
    [variable] = dashboard["templating"]["list"]
    assert [source["uid"] for source in provisioned["datasources"]] == [variable["current"]["value"]]


def test_two_dashboards_never_share_an_address() -> None:
    addresses = [read(path)["uid"] for path in DASHBOARDS]
    assert len(addresses) == len(set(addresses)) == 3
