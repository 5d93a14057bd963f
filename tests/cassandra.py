"""Fixtures with a real Cassandra of one node, started when the first test asks for it and shared by the whole run.

`MAINSPRING_TEST_CASSANDRA=cassandra://…` names a cluster to use instead; its role must be allowed to create keyspaces.
"""

import asyncio
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

import pytest

from mainspring.adapters.cassandra.address import address
from mainspring.adapters.cassandra.driver import Driver, Manner
from mainspring.adapters.cassandra.migrate import open_driver
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import RUN, SETTING, TABLES
from servers.cassandra import CassandraCluster, installed_jars
from servers.shared import shared
from tests.missing import needing_a_program
from tests.postgres import folder_of_the_run

EXISTING = "MAINSPRING_TEST_CASSANDRA"

_BALLOT = 0.002
"""Seconds."""


@pytest.fixture(scope="session")
def cassandra_jars() -> None:
    """For tests that start nodes themselves: skipped where there are none, but not on a build machine."""
    with needing_a_program():
        installed_jars()


@pytest.fixture(scope="session")
def cassandra_cluster_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster in which keyspaces can be made; tests want `cassandra_url`."""
    if EXISTING in os.environ:
        yield os.environ[EXISTING]
        return
    request.getfixturevalue("cassandra_jars")
    place = folder_of_the_run(tmp_path_factory) / "cassandra.json"
    with shared(place, lambda: CassandraCluster(short_lived=True)) as url:
        yield url


@pytest.fixture(scope="session")
def cassandra_driver(cassandra_cluster_url: str) -> Iterator[Driver]:
    """Connections to a keyspace with Mainspring's tables, for one test after another: making them takes seconds."""
    url = in_keyspace(cassandra_cluster_url, f"test_{secrets.token_hex(8)}")
    driver, _ = asyncio.run(open_driver(address(url)))
    yield driver
    driver.session.execute(f"DROP KEYSPACE {driver.address.keyspace}", execution_profile=Manner.SCHEMA)
    driver.cluster.shutdown()


@pytest.fixture
def emptied_cassandra(cassandra_driver: Driver) -> Driver:
    """The tables without a row but those that say what the keyspace is."""
    empty(cassandra_driver)
    return cassandra_driver


@pytest.fixture
def cassandra_url(emptied_cassandra: Driver, cassandra_cluster_url: str) -> str:
    """An empty store that is already there."""
    return in_keyspace(cassandra_cluster_url, emptied_cassandra.address.keyspace)


def in_keyspace(url: str, keyspace: str) -> str:
    """The same cluster, another keyspace."""
    return urlsplit(url)._replace(path=f"/{keyspace}").geturl()


def empty(driver: Driver) -> None:
    """Delete everything there is: hundreds of tests need it, and a TRUNCATE takes as long as a test."""
    tables = [table for table in TABLES if table is not SETTING]
    keyspace = driver.address.keyspace
    found = _all(driver, [_keys(keyspace, table) for table in tables])
    gone = [(f"{keyspace}.{table.name}", key) for table, keys in zip(tables, found, strict=True) for key in keys]
    _all(driver, [_deletion(*each) for each in gone], [tuple(key.values()) for _, key in gone])
    # Ballots are as coarse as a millisecond, and one of this very one would lie below the deletion.
    time.sleep(_BALLOT)


def _keys(keyspace: str, table: Table) -> str:
    """What is to be deleted: partitions, but runs one by one, because others are yet to be written as original."""
    if table is RUN:
        return f"SELECT {', '.join((*table.partition, *table.clustering))} FROM {keyspace}.{table.name}"  # noqa: S608
    return f"SELECT DISTINCT {', '.join(table.partition)} FROM {keyspace}.{table.name}"  # noqa: S608


def _deletion(table: str, key: Mapping[str, object]) -> str:
    return f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = %s' for name in key)}"  # noqa: S608


def _all(
    driver: Driver, statements: Sequence[str], values: Sequence[tuple[object, ...]] | None = None
) -> list[list[Mapping[str, object]]]:
    asked = [
        driver.session.execute_async(text, given, timeout=60, execution_profile=Manner.PLAIN)
        for text, given in zip(statements, values or [()] * len(statements), strict=True)
    ]
    return [list(answer.result() or ()) for answer in asked]
