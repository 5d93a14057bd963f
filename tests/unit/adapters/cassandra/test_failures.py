"""Which of our errors stands for one of a node's."""

import pytest

from mainspring.errors import StoreCorrupt, StoreFull

cassandra = pytest.importorskip("cassandra")


def test_a_node_that_refuses_writes_for_want_of_room_is_full_and_not_damaged() -> None:
    from mainspring.adapters.cassandra.failures import translation  # noqa: PLC0415 - needs the driver

    said = "Guardrail replica_disk_usage violated: Write request failed because disk usage exceeds failure threshold"
    assert type(translation(cassandra.InvalidRequest(said), "node")) is StoreFull
    assert type(translation(cassandra.InvalidRequest("unconfigured table"), "node")) is StoreCorrupt
