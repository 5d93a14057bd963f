"""What the driver has to ask the server about its types, and what not."""

import asyncpg
import pytest

from mainspring.adapters.postgres import types
from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import connect

BUILT_IN = "SELECT $1::uuid[], $2::interval[]"
ASKED = "typeinfo_tree"
"""Part of the statement by which the driver asks."""


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "_known", {})


async def asks(url: str, statement: str, *values: object) -> bool:
    """Whether the driver has to ask before it can execute *statement* on a new connection."""
    connection = await connect(address(url))
    seen: list[str] = []
    try:
        with connection.query_logger(lambda record: seen.append(record.query)):
            assert list(await connection.fetchrow(statement, *values) or ()) == list(values)
            assert list(await connection.fetchrow(statement, *values) or ()) == list(values)
    finally:
        await connection.close()
    return any(ASKED in query for query in seen)


async def test_built_in_types_are_asked_for_once_per_process(postgres_url: str) -> None:
    assert await asks(postgres_url, BUILT_IN, [], [])
    assert not await asks(postgres_url, BUILT_IN, [], [])


async def test_types_that_somebody_made_are_asked_for_on_each_connection(postgres_url: str) -> None:
    owner = await asyncpg.connect(postgres_url)
    await owner.execute("CREATE TYPE mood AS ENUM ('happy')")
    await owner.close()
    for _ in range(2):
        assert await asks(postgres_url, "SELECT $1::public.mood[]", ["happy"])
