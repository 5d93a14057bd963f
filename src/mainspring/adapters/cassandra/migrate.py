"""Bringing a keyspace up to date: tables and columns that are missing are added, nothing is ever taken away.

Every process that finds something missing asks the same node for it, which makes one change after the other: two nodes
that make the same table at the same time make two.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from mainspring.adapters.cassandra.address import Address
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Bridge, Driver, Manner
from mainspring.adapters.cassandra.layout import SHARDS
from mainspring.adapters.cassandra.replication import check_replication
from mainspring.adapters.cassandra.rows import Change, Rows, UnknownOutcome
from mainspring.adapters.cassandra.schema import SCHEMA, add_column, create_keyspace, create_table
from mainspring.adapters.cassandra.tables import SETTING, TABLES
from mainspring.errors import ConfigurationError, SchemaTooNew, StoreCorrupt, StoreUnavailable
from mainspring.ports.time import Random

AGREEMENT_SECONDS = 60.0
"""For nodes to learn of what was changed."""
_AHEAD = 4
"""Changes that a node may not have heard of yet: one that is flooded drops what comes late, and may not ask for it."""
_GLANCE_SECONDS = 1.0
"""For nodes to agree while this process has nothing to change."""

_COLUMNS = "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = ?"

_IDENTITY = "identity"

Found = Mapping[str, frozenset[str]]
"""Columns by table."""


async def open_driver(address: Address) -> tuple[Driver, int]:
    """Connect and bring the keyspace up to date; the schema's version comes too.

    StoreUnavailable also while nodes that start together don't see each other yet: it is worth another attempt.
    """
    driver = await Driver.connect(address)
    try:
        return driver, await migrate(driver)
    except BaseException:
        await driver.close()
        raise


async def exists(address: Address) -> bool:
    """Whether the keyspace was ever migrated."""
    driver = await Driver.connect(address)
    try:
        return SETTING.name in await _found(Bridge(driver), address.keyspace, _first_node(driver))
    finally:
        await driver.close()


async def migrate(driver: Driver) -> int:
    """Add what is missing and return the schema's version; a newer or foreign keyspace is refused untouched."""
    address = driver.address
    bridge = Bridge(driver)
    node = _first_node(driver)
    found = await _found(bridge, address.keyspace, node)
    if found and SETTING.name not in found:
        raise StoreCorrupt(
            f"{address.shown} has tables of somebody else's: name another keyspace in the URL, as in …:9042/mainspring"
        )
    await check_replication(driver)
    statements = list(_missing(address, found))
    for first in range(0, len(statements), _AHEAD):
        await _change(driver, bridge, node, statements[first : first + _AHEAD])
        if not await _agreement(driver, AGREEMENT_SECONDS):
            break
    await _see_it_everywhere(driver, bridge)
    rows = CqlRows(driver)
    await _agree(rows, address, "shards", SHARDS)
    schema = await _agree(rows, address, "schema", SCHEMA)
    while schema < SCHEMA:  # older programs are refused from here on
        await _write(rows, "schema", SCHEMA, instead_of=schema)
        schema = await _agree(rows, address, "schema", SCHEMA)
    return schema


def _first_node(driver: Driver) -> Any:
    """The same for everybody who sees the same nodes."""
    return min(_nodes(driver), key=lambda host: str(host.host_id))


def _nodes(driver: Driver) -> Sequence[Any]:
    return [host for host in driver.cluster.metadata.all_hosts() if host.is_up]


async def _found(bridge: Bridge, keyspace: str, node: Any) -> Found:
    statement = await bridge.prepared(_COLUMNS)
    columns: defaultdict[str, set[str]] = defaultdict(set)
    for row in await bridge.run(statement.bind((keyspace,)), host=node):
        columns[row["table_name"]].add(row["column_name"])
    return {table: frozenset(names) for table, names in columns.items()}


def _missing(address: Address, found: Found) -> Iterator[str]:
    """The table of settings first: whoever finds it knows the keyspace for ours."""
    if not found:
        yield create_keyspace(address.keyspace, address.replication)
    for table in sorted(TABLES, key=lambda table: table is not SETTING):
        if table.name not in found:
            yield create_table(address.keyspace, table)
            continue
        for column in table.columns:
            if column not in found[table.name]:
                yield add_column(address.keyspace, table, column)


async def _change(driver: Driver, bridge: Bridge, node: Any, statements: Sequence[str]) -> None:
    """One after the other on one node; the other nodes are not waited for after each."""
    cluster = driver.cluster
    patience, cluster.max_schema_agreement_wait = cluster.max_schema_agreement_wait, 0
    try:
        for statement in statements:
            await bridge.run(statement, Manner.SCHEMA, host=node)
    finally:
        cluster.max_schema_agreement_wait = patience


async def _agreement(driver: Driver, seconds: float) -> bool:
    """Whether the nodes have come to agree within *seconds*."""
    agree = driver.cluster.control_connection.wait_for_schema_agreement
    return bool(await asyncio.to_thread(agree, wait_time=seconds))


async def _see_it_everywhere(driver: Driver, bridge: Bridge) -> None:
    """Let nobody begin whom the next node may tell that there is no such table, whoever it was that made it."""
    if await _agreement(driver, _GLANCE_SECONDS):
        return
    # Nodes of two versions don't agree as long as an upgrade lasts: what counts is that each has what is needed.
    address = driver.address
    for node in _nodes(driver):
        if any(_missing(address, await _found(bridge, address.keyspace, node))):
            raise StoreUnavailable(f"the nodes of {address.shown} don't agree on its tables yet: try again")


async def _agree(rows: Rows, address: Address, name: str, wanted: int) -> int:
    """Write what was never written; refuse to work with anything else than what is there, or may be raised to it."""
    try:
        await _write(rows, name, wanted)
    except StoreCorrupt as error:
        raise ConfigurationError(
            f"{address.shown} refuses conditional writes, on which all safety rests. On ScyllaDB, make the keyspace "
            "yourself WITH tablets = {'enabled': false}"
        ) from error
    found = await rows.get(SETTING, (name,), settled=True)
    value = int(str(found[0]["value"])) if found else wanted
    if name == "schema" and value > wanted:
        raise SchemaTooNew(
            f"{address.shown} has schema {value}, but this Mainspring knows {wanted}: upgrade it, or choose another"
        )
    if name == "shards" and value != wanted:
        raise ConfigurationError(f"{address.shown} has {value} {name}, but this Mainspring works with {wanted}")
    return value


async def identity_of(rows: Rows, random: Random) -> str:
    """Who the store is; drawn by whoever asks first."""
    found = await rows.get(SETTING, (_IDENTITY,))
    while not found:
        await _write(rows, _IDENTITY, f"{random.bits(128):032x}")
        found = await rows.get(SETTING, (_IDENTITY,), settled=True)
    return str(found[0]["value"])


async def _write(rows: Rows, name: str, wanted: int | str, *, instead_of: int | None = None) -> None:
    """Unless somebody else has; whoever reads it next sees what came of it, also where no answer came."""
    expected = None if instead_of is None else {"value": str(instead_of)}
    with suppress(UnknownOutcome):
        await rows.cas_batch(SETTING, (name,), [Change(key=(), values={"value": str(wanted)}, expected=expected)])
