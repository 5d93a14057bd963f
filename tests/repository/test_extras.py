"""An extra promises that something works once it is installed."""

import tomllib
from pathlib import Path

import pytest

from mainspring.wiring import brokers, coordination, stores

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: dict[str, list[str]] = project["optional-dependencies"]
    return found


def test_there_is_an_extra_for_what_a_url_can_choose_and_for_nothing_else(extras: dict[str, list[str]]) -> None:
    wanted = {
        *(scheme.extra for scheme in stores.SCHEMES.values() if scheme.extra is not None),
        *(scheme.extra for scheme in brokers.SCHEMES.values()),
        *(coordinator.extra for coordinator in coordination.COORDINATORS.values()),
    }
    assert set(extras) == wanted | {"postgres", "tracing"}


def test_postgresql_has_an_extra_under_each_of_its_names(extras: dict[str, list[str]]) -> None:
    assert extras["postgres"] == extras["postgresql"]
