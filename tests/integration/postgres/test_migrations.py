"""Bringing a schema up to date: the same tables by every way, by one process at a time, and nobody else's touched."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from mainspring.adapters.postgres import migrate as migrating
from mainspring.adapters.postgres.address import Address, address
from mainspring.adapters.postgres.engine import connect
from mainspring.adapters.postgres.migrate import OLDEST_SERVER, migrate, migrations
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.adapters.tolerance import oldest_program
from mainspring.errors import ConfigurationError, SchemaTooNew, StoreCorrupt, StoreUnavailable

Steps = list[tuple[int, str]]

_COLUMNS = """
    SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity FROM information_schema.columns
    WHERE table_schema = $1 ORDER BY table_name, column_name
"""
_INDEXES = "SELECT tablename, replace(indexdef, $1, '') FROM pg_indexes WHERE schemaname = $1 ORDER BY indexdef"
_CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = $1::regnamespace ORDER BY 1, 2
"""
_TABLES = """
    SELECT relname, relkind::text, reloptions::text, pg_get_partkeydef(oid) FROM pg_class
    WHERE relnamespace = $1::regnamespace ORDER BY relname
"""
_FUNCTIONS = """
    SELECT proname, replace(pg_get_functiondef(oid), $1, '') FROM pg_proc
    WHERE pronamespace = $1::regnamespace ORDER BY 1, 2
"""
_SHAPE = (_COLUMNS, _INDEXES, _CONSTRAINTS, _TABLES, _FUNCTIONS)


@asynccontextmanager
async def connected(where: Address) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await connect(where)
    try:
        yield connection
    finally:
        await connection.close()


async def shape(where: Address) -> list[list[tuple[object, ...]]]:
    """All that a schema consists of, as the server's catalogs have it."""
    async with connected(where) as connection:
        return [[tuple(row) for row in await connection.fetch(query, where.schema)] for query in _SHAPE]


async def applied(where: Address) -> Sequence[int]:
    async with connected(where) as connection:
        return [row[0] for row in await connection.fetch("SELECT number FROM migration ORDER BY number")]


@pytest.fixture
def where(postgres_url: str) -> Address:
    return address(postgres_url)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """The migrations, and one that a later release might bring."""
    later = "ALTER TABLE job ADD COLUMN colour text NOT NULL DEFAULT 'red'; CREATE INDEX job_colour ON job (colour);"
    steps = [*migrations(), (len(migrations()) + 1, later)]
    monkeypatch.setattr(migrating, "migrations", lambda: steps)
    return steps


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


async def test_a_schema_that_grew_step_by_step_is_the_same_as_a_new_one(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, steps: Steps
) -> None:
    fresh, grown = address(f"{postgres_url}?schema=fresh"), address(f"{postgres_url}?schema=grown")
    assert await migrate(fresh) == len(steps)
    for count in range(1, len(steps) + 1):
        monkeypatch.setattr(migrating, "migrations", lambda until=count: steps[:until])
        assert await migrate(grown) == count
        assert len(await applied(grown)) == count
    assert await shape(fresh) == await shape(grown)


async def test_migrating_again_changes_nothing(where: Address) -> None:
    version = await migrate(where)
    before = await shape(where)
    assert await migrate(where) == version
    assert await shape(where) == before
    assert list(await applied(where)) == [number for number, _ in migrations()]


async def test_rows_survive_a_later_step(where: Address, steps: Steps) -> None:
    store = await PostgresStore.open(where.url, clock=SystemClock(), random=SystemRandom())
    blob = await store.blobs.put(b"kept")
    await store.close()
    assert await migrate(where) == len(steps)
    async with connected(where) as connection:
        assert await connection.fetchval("SELECT data FROM blob WHERE id = $1", blob) == b"kept"


async def test_processes_that_start_at_once_migrate_once(where: Address, steps: Steps) -> None:
    versions = await asyncio.gather(*(migrate(where) for _ in range(6)))
    assert set(versions) == {len(steps)}
    assert len(await applied(where)) == len(steps)


async def test_a_step_that_fails_leaves_nothing_behind(where: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    await migrate(where)
    before = await shape(where)
    broken = "CREATE TABLE half (id integer); SELECT 1 / 0;"
    monkeypatch.setattr(migrating, "migrations", lambda: [*migrations(), (len(migrations()) + 1, broken)])
    with pytest.raises(StoreUnavailable, match="division by zero"):
        await migrate(where)
    assert await shape(where) == before


async def test_stores_of_two_schemas_share_a_database(postgres_url: str) -> None:
    stores = [
        await PostgresStore.open(f"{postgres_url}?schema={schema}", clock=SystemClock(), random=SystemRandom())
        for schema in ("one", "two")
    ]
    for store in stores:
        assert await store.locks.find("door") is None
        await store.locks.acquire("door", "ann", timedelta(minutes=1))
    for store in stores:
        await store.close()


async def test_a_newer_schema_is_refused_untouched(where: Address) -> None:
    await migrate(where)
    async with connected(where) as connection:
        await connection.execute("INSERT INTO migration (number) VALUES (1000)")
    before = await shape(where)
    with pytest.raises(SchemaTooNew, match="has schema 1000"):
        await migrate(where)
    assert await shape(where) == before


@pytest.mark.parametrize(("tolerated", "opens"), [(0, True), (1, False)])
async def test_a_newer_schema_is_used_if_it_tolerates_programs_like_this_one(
    where: Address, monkeypatch: pytest.MonkeyPatch, tolerated: int, opens: bool
) -> None:
    """A later release brings two steps, and says of the second which programs it tolerates."""
    known = len(migrations())
    steps = [
        *migrations(),
        (known + 1, f"-- Programs of schema {known} work on this.\nCREATE TABLE tint (id integer);"),
        (known + 2, f"-- Programs of schema {known + tolerated} work on this.\nCREATE TABLE hue (id integer);"),
    ]
    with monkeypatch.context() as later:
        later.setattr(migrating, "migrations", lambda: steps)
        assert await migrate(where) == known + 2
    before = await shape(where)
    if opens:
        assert await migrate(where) == known + 2
    else:
        with pytest.raises(SchemaTooNew, match=f"has schema {known + 2}, but this Mainspring knows {known}"):
            await migrate(where)
    assert await shape(where) == before


def test_only_the_first_line_of_a_step_says_what_it_tolerates() -> None:
    assert oldest_program(7, "-- Programs of schema 5 work on this.\nSELECT 1;") == 5
    assert oldest_program(7, "SELECT 1;\n-- Programs of schema 5 work on this.\n") == 7


async def test_a_step_gives_way_to_whoever_uses_its_table_and_is_made_once_they_are_done(
    where: Address, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "migrations", lambda: steps[:-1])
    await migrate(where)
    monkeypatch.setattr(migrating, "migrations", lambda: steps)
    monkeypatch.setattr(migrating, "BRIEFLY", "SET LOCAL lock_timeout = '50ms'")
    monkeypatch.setattr(migrating, "PAUSE", 0.01)
    monkeypatch.setattr(migrating, "TRIES", 2)
    async with connected(where) as reader:
        async with reader.transaction():
            await reader.fetch("SELECT 1 FROM job")
            with pytest.raises(StoreUnavailable, match="while a long transaction reads its tables"):
                await migrate(where)
            assert len(await applied(where)) == len(steps) - 1
        assert await migrate(where) == len(steps)


async def test_a_schema_with_somebody_elses_tables_is_refused_untouched(where: Address) -> None:
    async with connected(where) as connection:
        await connection.execute(f"CREATE SCHEMA {where.schema}")
        await connection.execute("CREATE TABLE theirs (id integer)")
    before = await shape(where)
    with pytest.raises(StoreCorrupt, match="somebody else"):
        await migrate(where)
    assert await shape(where) == before


async def test_an_old_server_is_refused_untouched(where: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(where) as connection:
        number = int(await connection.fetchval("SHOW server_version_num"))
    assert number >= OLDEST_SERVER
    monkeypatch.setattr(migrating, "OLDEST_SERVER", number + 1)
    with pytest.raises(ConfigurationError, match="needs 14 or newer"):
        await migrate(where)
    async with connected(where) as connection:
        assert await connection.fetchval("SELECT to_regnamespace($1)", where.schema) is None
