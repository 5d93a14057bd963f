"""Fixtures with a real PostgreSQL, started when the first test asks for one and shared by all workers of the run.

`MAINSPRING_TEST_POSTGRESQL=postgresql://…` names a server to use instead; its role must be allowed to create databases.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from servers.postgres import PostgresServer
from servers.postgres_programs import installed_programs
from servers.shared import shared
from tests.missing import needing_a_program

EXISTING = "MAINSPRING_TEST_POSTGRESQL"
SETTINGS = {
    "max_connections": "200",
    # In the data folder instead of the machine's shared memory: nothing is left of a server that a test has killed.
    "dynamic_shared_memory_type": "mmap",
}


@pytest.fixture(scope="session")
def postgres_wheel() -> None:
    """For tests that start servers themselves: skipped where there is none, but not on a build machine."""
    with needing_a_program():
        installed_programs()


@pytest.fixture(scope="session")
def postgres_administration(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where databases can be created; tests want `postgres_url`."""
    if EXISTING in os.environ:
        yield os.environ[EXISTING]
        return
    request.getfixturevalue("postgres_wheel")
    with shared(folder_of_the_run(tmp_path_factory) / "postgres.json", lambda: PostgresServer(SETTINGS)) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_administration: str) -> Iterator[str]:
    """An empty database for one test alone."""
    name = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(postgres_administration, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(name)))
    yield urlsplit(postgres_administration)._replace(path=f"/{name}").geturl()
    with psycopg.connect(postgres_administration, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def postgres_server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """A running server for one test alone, to stop, kill and restart."""
    request.getfixturevalue("postgres_wheel")
    with PostgresServer(SETTINGS) as server:
        yield server


def folder_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of the run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
