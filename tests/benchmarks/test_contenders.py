"""What holds for every contender before anything is measured."""

import json

import pytest

from benchmarks import groups, node
from benchmarks.groups import GROUPS
from benchmarks.runner import available
from benchmarks.stage import contender, names


def test_every_contender_stands_in_a_group() -> None:
    assert sorted(groups.contenders(list(GROUPS))) == sorted(names())


@pytest.mark.parametrize("name", names())
def test_every_contender_says_what_stands_behind_its_figures(name: str) -> None:
    description = contender(name).description

    assert all([description.title, description.settings, description.keeps, description.loses])


@pytest.mark.parametrize("group", GROUPS.values(), ids=list(GROUPS))
def test_goals_speak_of_peers_in_the_same_group(group: groups.Group) -> None:
    peers = {goal.peer for several in group.goals.values() for goal in several if goal.peer}

    assert peers <= set(group.peers)


def test_a_contender_on_node_is_left_out_where_there_is_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    said: list[str] = []

    assert available(["huey", "graphile_worker"], said.append) == ["huey"]
    assert said == ["graphile_worker is left out: it needs Node, with node and npm on the PATH"]


def test_packages_of_node_are_pinned_by_hash_and_name_no_registry() -> None:
    lock = json.loads((node.FOLDER / "package-lock.json").read_text())
    packages = {path: package for path, package in lock["packages"].items() if path}

    assert packages
    assert all("integrity" in package for package in packages.values())
    assert not any("resolved" in package for package in packages.values())
