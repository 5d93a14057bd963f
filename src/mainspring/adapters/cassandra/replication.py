"""Whether a cluster has the nodes for the copies that a keyspace keeps: without them each request waits, and fails."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

from mainspring.adapters.cassandra.address import Address
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.failures import THEIRS
from mainspring.errors import ConfigurationError

GRACE = 2.0
"""Seconds for nodes that start together to see each other."""
_GLANCE = 0.25

Counts = Mapping[str, int]
"""By data centre."""


async def check_replication(driver: Driver) -> None:
    """ConfigurationError, with what to write instead, if the nodes can't keep the copies or agree on them."""
    deadline = monotonic() + GRACE
    while (fault := _fault_of(driver)) is not None:
        if monotonic() >= deadline:
            raise ConfigurationError(f"{driver.address.shown} {fault}")
        await asyncio.sleep(_GLANCE)
        with suppress(*THEIRS):
            await asyncio.to_thread(driver.cluster.refresh_nodes)


def _fault_of(driver: Driver) -> str | None:
    metadata = driver.cluster.metadata
    nodes = Counter(str(host.datacenter) for host in metadata.all_hosts())
    if (centre := driver.address.datacenter) is not None and centre not in nodes:
        return f"knows no data centre {centre!r}, only {_listed(nodes)}: write datacenter={min(nodes)} in the URL"
    keyspace = metadata.keyspaces.get(driver.address.keyspace)
    if keyspace is None:
        return fault_of_wish(driver.address, nodes)
    copies = copies_of(keyspace.replication_strategy)
    return None if copies is None else fault_of_keyspace(driver.address, copies, nodes)


def copies_of(strategy: Any) -> Counts | None:
    """Copies of every row; under an empty name, those that may be on any node. None where that can't be known."""
    by_centre = getattr(strategy, "dc_replication_factors", None)
    if by_centre:
        return dict(by_centre)
    copies = getattr(strategy, "replication_factor", None)
    return None if copies is None else {"": int(copies)}


def fault_of_wish(address: Address, nodes: Counts) -> str | None:
    """What keeps a keyspace from being made as the URL wishes."""
    wanted = address.replication if "" not in address.replication else dict.fromkeys(nodes, address.replication[""])
    unknown = sorted(wanted.keys() - nodes.keys())
    if unknown:
        return f"knows no data centre {unknown[0]!r}, only {_listed(nodes)}: {_advice(address, wanted, nodes)}"
    if address.local and address.datacenter not in wanted:
        return f"would keep no copy in {address.datacenter}, whose nodes are to agree: add it to replication in the URL"
    for name, copies in wanted.items():
        if nodes[name] < copies:
            return f"can't keep {copies} copies in {_listed({name: nodes[name]})}: {_advice(address, wanted, nodes)}"
    return None


def fault_of_keyspace(address: Address, copies: Counts, nodes: Counts) -> str | None:
    """What keeps the nodes from ever agreeing on a row of a keyspace that is there."""
    if address.local and address.datacenter is not None and "" not in copies:
        copies = {address.datacenter: copies.get(address.datacenter, 0)}
        if not copies[address.datacenter]:
            return f"keeps no copy in {address.datacenter}, whose nodes are to agree: ALTER KEYSPACE {address.keyspace}"
    total = sum(copies.values())
    kept = sum(min(count, nodes.get(name, 0) if name else sum(nodes.values())) for name, count in copies.items())
    if kept > total // 2:
        return None
    return (
        f"keeps {total} {'copy' if total == 1 else 'copies'} of each row, most of which have no node to be on: "
        f"{_listed(nodes)}; start more nodes, or ALTER KEYSPACE {address.keyspace} to fewer copies"
    )


def _advice(address: Address, wanted: Counts, nodes: Counts) -> str:
    if "" in address.replication:
        value = str(min(*nodes.values(), address.replication[""]))
    else:
        possible = {name: min(count, nodes[name]) for name, count in wanted.items() if name in nodes}
        chosen = possible or {name: min(count, 3) for name, count in nodes.items()}
        value = ",".join(f"{name}:{count}" for name, count in chosen.items())
    return f"write replication={value} in the URL, or start more nodes"


def _listed(nodes: Counts) -> str:
    return ", ".join(f"{name} with {count} node{'' if count == 1 else 's'}" for name, count in sorted(nodes.items()))
