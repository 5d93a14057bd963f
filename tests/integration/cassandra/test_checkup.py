"""What the store says about its own health."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from mainspring.adapters.cassandra.checkup import CassandraCheckup
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.system.clock import SystemClock
from mainspring.ports.checkup import Remark
from mainspring.ports.time import Clock
from mainspring.testing.clock import ManualClock


async def remarks(driver: Driver, clock: Clock | None = None) -> Mapping[str, Remark]:
    checkup = CassandraCheckup(driver, clock or SystemClock())
    return {remark.subject: remark for remark in await checkup.examine()}


async def test_one_node_without_copies_is_told_what_it_risks(cassandra_driver: Driver) -> None:
    found = await remarks(cassandra_driver)
    assert list(found) == ["replication", "nodes", "clocks", "commit log"]
    assert "one copy" in found["replication"].text
    assert found["replication"].endangers
    assert found["nodes"].text == "1 of 1 answer"
    assert not found["nodes"].step
    assert not found["clocks"].step
    assert "1 of 1 nodes" in found["commit log"].text
    assert found["commit log"].endangers


async def test_a_clock_that_differs_endangers_the_order_of_things(cassandra_driver: Driver) -> None:
    remark = (await remarks(cassandra_driver, ManualClock()))["clocks"]
    assert remark.endangers
    assert "NTP" in remark.step


async def test_nobody_keeps_dead_rows_alive(cassandra_driver: Driver) -> None:
    assert await CassandraCheckup(cassandra_driver, SystemClock()).oldest_snapshot() == timedelta(0)


async def test_more_copies_than_nodes_are_told(cassandra_driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CassandraCheckup, "_copies", lambda _: {"here": 3})
    found = await remarks(cassandra_driver)
    assert not found["replication"].step
    assert "fewer than the 3 copies" in found["nodes"].text
    assert found["nodes"].endangers
