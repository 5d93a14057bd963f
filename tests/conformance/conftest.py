import asyncio
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.migrate import migrate
from tests.conformance.emptying import empty


@pytest.fixture(scope="session")
def migrated_postgres_url(postgres_administration: str) -> Iterator[str]:
    """A database with Mainspring's tables, for one test after another."""
    name = f"conformance_{secrets.token_hex(8)}"
    with psycopg.connect(postgres_administration, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {} TEMPLATE template0").format(Identifier(name)))
    url = urlsplit(postgres_administration)._replace(path=f"/{name}").geturl()
    asyncio.run(migrate(address(url)))
    yield url
    with psycopg.connect(postgres_administration, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(scope="session")
def emptying_connection(migrated_postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Kept from one test to the next: for the server, a new one is as much work as a test."""
    with psycopg.connect(migrated_postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def emptied_postgres_url(migrated_postgres_url: str, emptying_connection: psycopg.Connection[Any]) -> str:
    """The tables without a row. Hundreds of tests need them: making them anew each time would take minutes."""
    empty(emptying_connection)
    return migrated_postgres_url
