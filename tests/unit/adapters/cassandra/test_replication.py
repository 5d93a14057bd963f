"""What a cluster's nodes say to the copies that are wished for, or that there are."""

import pytest

from mainspring.adapters.cassandra.address import address
from mainspring.adapters.cassandra.replication import fault_of_keyspace, fault_of_wish

ONE = {"berlin": 1}
THREE = {"berlin": 3}
TWO_CENTRES = {"berlin": 3, "oslo": 2}


@pytest.mark.parametrize(
    ("query", "nodes", "fault"),
    [
        ("", ONE, "can't keep 3 copies in berlin with 1 node: write replication=1 in the URL, or start more nodes"),
        ("", TWO_CENTRES, "can't keep 3 copies in oslo with 2 nodes: write replication=2 in the URL"),
        ("?replication=berlin:3,oslo:3", TWO_CENTRES, "write replication=berlin:3,oslo:2 in the URL"),
        (
            "?replication=paris:3",
            THREE,
            "knows no data centre 'paris', only berlin with 3 nodes: write replication=ber",
        ),
        ("?replication=berlin:3,paris:3", THREE, "write replication=berlin:3 in the URL"),
        ("?replication=oslo:2&consistency=local&datacenter=berlin", TWO_CENTRES, "would keep no copy in berlin"),
    ],
)
def test_a_keyspace_that_can_not_be_kept_is_not_made(query: str, nodes: dict[str, int], fault: str) -> None:
    assert fault in str(fault_of_wish(address(f"cassandra://a/k{query}"), nodes))


@pytest.mark.parametrize(
    ("query", "nodes"),
    [
        ("", THREE),
        ("?replication=1", ONE),
        ("?replication=2", TWO_CENTRES),
        ("?replication=berlin:3", TWO_CENTRES),
        ("?replication=berlin:3&consistency=local&datacenter=berlin", TWO_CENTRES),
    ],
)
def test_a_keyspace_that_has_its_nodes_is_made(query: str, nodes: dict[str, int]) -> None:
    assert fault_of_wish(address(f"cassandra://a/k{query}"), nodes) is None


LOCAL = "?consistency=local&datacenter=oslo"


@pytest.mark.parametrize(
    ("query", "copies", "nodes", "fault"),
    [
        ("", {"": 3}, ONE, "keeps 3 copies of each row, most of which have no node to be on: berlin with 1 node"),
        ("", {"berlin": 2}, ONE, "ALTER KEYSPACE k to fewer copies"),
        ("", {"paris": 1}, ONE, "keeps 1 copy of each row"),
        (LOCAL, {"berlin": 3}, TWO_CENTRES, "keeps no copy in oslo"),
        (LOCAL, {"berlin": 3, "oslo": 4}, TWO_CENTRES, "keeps 4 copies"),
    ],
)
def test_a_keyspace_without_a_majority_of_its_nodes_is_refused(
    query: str, copies: dict[str, int], nodes: dict[str, int], fault: str
) -> None:
    assert fault in str(fault_of_keyspace(address(f"cassandra://a/k{query}"), copies, nodes))


@pytest.mark.parametrize(
    ("query", "copies", "nodes"),
    [
        ("", {"": 1}, ONE),
        ("", {"berlin": 3}, {"berlin": 2}),
        ("", {"": 3}, TWO_CENTRES),
        ("", {"berlin": 3, "oslo": 3}, TWO_CENTRES),
        (LOCAL, {"berlin": 9, "oslo": 3}, TWO_CENTRES),
        (LOCAL, {"": 3}, TWO_CENTRES),
    ],
)
def test_a_keyspace_that_lacks_a_few_nodes_goes_on(query: str, copies: dict[str, int], nodes: dict[str, int]) -> None:
    assert fault_of_keyspace(address(f"cassandra://a/k{query}"), copies, nodes) is None
