"""Fixtures with a real Cassandra of one node, started when the first test asks for it and shared by the whole run.

`MAINSPRING_TEST_CASSANDRA=cassandra://…` names a cluster to use instead; its role must be allowed to create keyspaces.
"""

import asyncio
import os
import secrets
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from mainspring.adapters.cassandra.address import address
from mainspring.adapters.cassandra.driver import Driver, Manner
from mainspring.adapters.cassandra.migrate import open_driver
from mainspring.adapters.cassandra.tables import SETTING, TABLES
from mainspring.adapters.system.clock import SystemClock
from servers.cassandra import CassandraCluster, installed_jars
from servers.process import NotInstalled
from servers.shared import shared
from tests.postgres import folder_of_the_run

EXISTING = "MAINSPRING_TEST_CASSANDRA"


@pytest.fixture(scope="session")
def cassandra_jars() -> None:
    """For tests that start nodes themselves: skipped where there are none, but not on a build machine."""
    try:
        installed_jars()
    except NotInstalled as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def cassandra_cluster_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster in which keyspaces can be made; tests want `cassandra_url`."""
    if EXISTING in os.environ:
        yield os.environ[EXISTING]
        return
    request.getfixturevalue("cassandra_jars")
    with shared(folder_of_the_run(tmp_path_factory) / "cassandra.json", CassandraCluster) as url:
        yield url


@pytest.fixture(scope="session")
def cassandra_driver(cassandra_cluster_url: str) -> Iterator[Driver]:
    """Connections to a keyspace with Mainspring's tables, for one test after another: making them takes seconds."""
    url = in_keyspace(cassandra_cluster_url, f"test_{secrets.token_hex(8)}")
    driver, _ = asyncio.run(open_driver(address(url), SystemClock()))
    yield driver
    driver.session.execute(f"DROP KEYSPACE {driver.address.keyspace}", timeout=60, execution_profile=Manner.PLAIN)
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
    """Truncate what isn't empty: that takes tens of milliseconds a table, and looking next to nothing."""
    tables = [table.name for table in TABLES if table is not SETTING]
    found = _all(driver, [f"SELECT * FROM {name} LIMIT 1" for name in tables])  # noqa: S608
    _all(driver, [f"TRUNCATE {name}" for name, rows in zip(tables, found, strict=True) if rows])


def _all(driver: Driver, statements: list[str]) -> list[list[object]]:
    asked = [driver.session.execute_async(text, timeout=60, execution_profile=Manner.PLAIN) for text in statements]
    return [list(answer.result() or ()) for answer in asked]
