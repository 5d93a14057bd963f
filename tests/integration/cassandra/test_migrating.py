"""Keyspaces that are made, found, extended or refused."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mainspring.adapters.cassandra.address import Address, address
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Bridge, Driver, Manner
from mainspring.adapters.cassandra.migrate import migrate, open_driver
from mainspring.adapters.cassandra.rows import Change
from mainspring.adapters.cassandra.schema import SCHEMA
from mainspring.adapters.cassandra.tables import LOCK, SETTING, SIGNAL
from mainspring.cli.exits import Exit
from mainspring.errors import ConfigurationError, SchemaTooNew, StoreCorrupt, StoreUnavailable
from servers.ports import free_port
from tests.cassandra import in_keyspace
from tests.cli.commands import typed

PROMPT = 5
"""Seconds in which somebody at a terminal is told what is wrong."""


@pytest.fixture
async def driver(cassandra_cluster_url: str) -> AsyncIterator[Driver]:
    """A connection to a keyspace that isn't there yet."""
    where = address(in_keyspace(cassandra_cluster_url, f"test_{secrets.token_hex(8)}"))
    driver = await Driver.connect(where)
    yield driver
    await Bridge(driver).run(f"DROP KEYSPACE IF EXISTS {where.keyspace}", Manner.SCHEMA)
    await driver.close()


async def value_of(driver: Driver, name: str) -> object:
    (row,) = await CqlRows(driver).get(SETTING, (name,), settled=True)
    return row["value"]


async def test_a_store_is_made_once_by_many_and_found_again(driver: Driver) -> None:
    others = [await Driver.connect(driver.address) for _ in range(2)]
    assert await asyncio.gather(*(migrate(one) for one in (driver, *others))) == [SCHEMA] * 3
    for other in others:
        await other.close()
    assert await migrate(driver) == SCHEMA
    assert await value_of(driver, "schema") == str(SCHEMA)
    assert await CqlRows(driver).cas_batch(LOCK, ("a",), [Change(key=(), values={"fence": 1})]) is None


async def test_tables_and_columns_that_are_missing_are_added(cassandra_driver: Driver) -> None:
    bridge = Bridge(cassandra_driver)
    keyspace = cassandra_driver.address.keyspace
    await bridge.run(f"DROP TABLE {keyspace}.{SIGNAL.name}", Manner.SCHEMA)
    await bridge.run(f"ALTER TABLE {keyspace}.output DROP message", Manner.SCHEMA)
    assert await migrate(cassandra_driver) == SCHEMA
    assert await CqlRows(cassandra_driver).slice(SIGNAL, (0,), limit=1) == []
    printed = await bridge.run(f"SELECT message FROM {keyspace}.output LIMIT 1")  # noqa: S608 - a name of our own
    assert all(row["message"] is None for row in printed)


async def test_a_schema_that_older_programs_know_is_raised(cassandra_driver: Driver) -> None:
    older = Change(key=(), values={"value": str(SCHEMA - 1)}, expected={"value": str(SCHEMA)})
    assert await CqlRows(cassandra_driver).cas_batch(SETTING, ("schema",), [older]) is None
    assert await migrate(cassandra_driver) == SCHEMA
    assert await value_of(cassandra_driver, "schema") == str(SCHEMA)


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [("schema", "9999", SchemaTooNew), ("shards", "7", ConfigurationError)],
)
async def test_a_store_of_another_kind_is_refused(
    cassandra_driver: Driver, name: str, value: str, refusal: type[Exception]
) -> None:
    rows = CqlRows(cassandra_driver)
    ours = await value_of(cassandra_driver, name)
    await rows.cas_batch(SETTING, (name,), [Change(key=(), values={"value": value}, expected={"value": str(ours)})])
    try:
        with pytest.raises(refusal):
            await migrate(cassandra_driver)
    finally:
        back = Change(key=(), values={"value": str(ours)}, expected={"value": value})
        assert await rows.cas_batch(SETTING, (name,), [back]) is None


async def test_tables_of_somebody_else_are_left_alone(driver: Driver) -> None:
    bridge = Bridge(driver)
    keyspace = driver.address.keyspace
    await bridge.run(
        f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
        Manner.SCHEMA,
    )
    await bridge.run(f"CREATE TABLE {keyspace}.accounts (id int PRIMARY KEY)", Manner.SCHEMA)
    with pytest.raises(StoreCorrupt, match="somebody else's"):
        await migrate(driver)


async def test_a_cluster_that_does_not_answer_is_named() -> None:
    nobody = Address(hosts=("127.0.0.1",), port=free_port())
    with pytest.raises(StoreUnavailable, match="didn't answer"):
        await open_driver(nobody)


async def test_a_host_that_is_not_known_is_named(cassandra_driver: Driver) -> None:
    nowhere = replace(cassandra_driver.address, hosts=("nowhere.invalid",))
    with pytest.raises(StoreUnavailable, match=r"nowhere\.invalid.* check the names"):
        await open_driver(nowhere)


@pytest.mark.parametrize(
    ("query", "refusal"),
    [
        ("", r"can't keep 3 copies in datacenter1 with 1 node: write replication=1 in the URL, or start more nodes"),
        ("?replication=nowhere:1", r"knows no data centre 'nowhere', .* write replication=datacenter1:1 in the URL"),
        ("?replication=1&datacenter=nowhere", r"knows no data centre 'nowhere', .* write datacenter=datacenter1 in"),
    ],
)
async def test_copies_that_have_no_node_are_refused_in_seconds(
    cassandra_cluster_url: str, query: str, refusal: str
) -> None:
    url = in_keyspace(cassandra_cluster_url, f"test_{secrets.token_hex(8)}")
    async with asyncio.timeout(PROMPT):
        with pytest.raises(ConfigurationError, match=refusal):
            await open_driver(address(url.partition("?")[0] + query))


async def test_a_keyspace_that_keeps_more_copies_than_there_are_nodes_is_refused_in_seconds(driver: Driver) -> None:
    copies = "{'class': 'SimpleStrategy', 'replication_factor': 3}"
    await Bridge(driver).run(f"CREATE KEYSPACE {driver.address.keyspace} WITH replication = {copies}", Manner.SCHEMA)
    async with asyncio.timeout(PROMPT):
        with pytest.raises(ConfigurationError, match=r"keeps 3 copies of each row, .* ALTER KEYSPACE test_"):
            await open_driver(driver.address)


@pytest.mark.parametrize("command", ["migrate", "serve"])
def test_a_command_that_finds_too_few_nodes_ends_with_a_sentence(
    cassandra_cluster_url: str, tmp_path: Path, command: str
) -> None:
    url = in_keyspace(cassandra_cluster_url.partition("?")[0], f"test_{secrets.token_hex(8)}")
    said = typed(tmp_path, command, "--store", url, PORT="0")
    assert said.returncode == Exit.USAGE
    assert "can't keep 3 copies in datacenter1 with 1 node: write replication=1" in said.stderr.splitlines()[-1]
