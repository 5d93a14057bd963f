"""Fixtures with a real Valkey, which speaks as a Redis does: one per worker of the run, and ones to be ill-treated."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from redis import Redis

from servers.valkey import ValkeyServer, installed_program
from tests.missing import needing_a_program

SETTINGS = {"appendonly": "no"}
"""What is forgotten with the server is what these tests are about."""


@pytest.fixture(scope="session")
def valkey_wheel() -> None:
    """For tests that start servers themselves: skipped where there is none, but not on a build machine."""
    with needing_a_program():
        installed_program()


@pytest.fixture(scope="session")
def redis_server_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A running server; tests want `redis_url`."""
    request.getfixturevalue("valkey_wheel")
    with ValkeyServer(SETTINGS) as server:
        yield server.url()


@pytest.fixture
def redis_url(redis_server_url: str) -> str:
    """An empty database that nobody else uses meanwhile."""
    with Redis.from_url(redis_server_url) as client:
        client.flushdb()
    return redis_server_url


@pytest.fixture
def valkey_server(request: pytest.FixtureRequest) -> Iterator[ValkeyServer]:
    """A running server for one test alone, to stop, kill and restart."""
    request.getfixturevalue("valkey_wheel")
    with ValkeyServer(SETTINGS) as server:
        yield server


def in_database(url: str, database: int) -> str:
    """The same server, another database."""
    return urlsplit(url)._replace(path=f"/{database}").geturl()
