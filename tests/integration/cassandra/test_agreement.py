"""Nodes that don't agree on the tables: made by somebody a moment ago, or in the middle of an upgrade."""

from typing import Any

import pytest

from mainspring.adapters.cassandra import migrate as migrating
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.migrate import Found, migrate
from mainspring.adapters.cassandra.schema import SCHEMA
from mainspring.adapters.cassandra.tables import SIGNAL
from mainspring.errors import StoreUnavailable


@pytest.fixture
def disagreeing(cassandra_driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """A cluster that has every table, and whose nodes tell of different versions of the schema for ever."""
    control = cassandra_driver.cluster.control_connection
    monkeypatch.setattr(control, "wait_for_schema_agreement", lambda **_: False)
    return cassandra_driver


async def test_nodes_that_have_every_table_need_not_agree(disagreeing: Driver) -> None:
    assert await migrate(disagreeing) == SCHEMA


async def test_a_node_that_has_not_heard_of_a_table_yet_is_waited_for_by_whoever_did_not_make_it(
    disagreeing: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Found] = []

    async def found_on_one_node_only(*arguments: Any) -> Found:
        found = await found_there(*arguments)
        looks.append(found)
        return found if len(looks) == 1 else {name: each for name, each in found.items() if name != SIGNAL.name}

    found_there = migrating._found  # a second node that is behind can't be had at will
    monkeypatch.setattr(migrating, "_found", found_on_one_node_only)
    with pytest.raises(StoreUnavailable, match="agree on its tables"):
        await migrate(disagreeing)
