"""Bringing a store's schema up to date: numbered steps, forward only, each in a transaction, one process at a time.

Others may be at work meanwhile. A step never makes them wait for long: where it can't have its locks at once, it gives
way, lets the others through, and tries again.
"""

import asyncio
from importlib import resources

from asyncpg.exceptions import LockNotAvailableError

from mainspring.adapters.postgres.address import Address
from mainspring.adapters.postgres.engine import Connection, connect
from mainspring.adapters.postgres.failures import translated
from mainspring.adapters.tolerance import oldest_program
from mainspring.errors import ConfigurationError, SchemaTooNew, StoreCorrupt, StoreUnavailable

OLDEST_SERVER = 140_000
TRIES = 30
PAUSE = 1.0
"""Seconds between two tries: heartbeats that had to wait behind us are through by then."""

_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('mainspring/' || $1, 0))"
BRIEFLY = "SET LOCAL lock_timeout = '1s'"
_VERSION = "SELECT max(number) FROM migration"
_NEEDED = "SELECT max(coalesce(needs, number)) FROM migration"
# Both in one moment: tables that another process makes in between aren't somebody else's.
_FOUND = "SELECT to_regclass($1 || '.migration') IS NOT NULL, (SELECT count(*) FROM pg_tables WHERE schemaname = $1)"


def migrations() -> list[tuple[int, str]]:
    """All steps in order, as (number, SQL)."""
    folder = resources.files(__package__) / "migrations"
    steps = [(int(file.name[:4]), file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(steps)


async def migrate(address: Address) -> int:
    """Apply what is missing and return the schema's version; a newer or foreign schema is refused untouched.

    A newer one isn't if its steps leave programs like this one able to work.
    """
    connection = await connect(address)
    try:
        with translated(address.shown):
            await _check_server(connection, address)
            version = await _version(connection, address)
            for number, script in migrations():
                if number > version:
                    version = await _apply(connection, address, number, script)
            return version
    finally:
        await connection.close(timeout=5)


async def exists(address: Address) -> bool:
    """Whether the schema was ever migrated."""
    connection = await connect(address)
    try:
        with translated(address.shown):
            migrated, _ = await connection.fetchrow(_FOUND, address.schema) or (False, 0)
            return bool(migrated)
    finally:
        await connection.close(timeout=5)


async def _check_server(connection: Connection, address: Address) -> None:
    number = int(await connection.fetchval("SHOW server_version_num"))
    if number < OLDEST_SERVER:
        shown = await connection.fetchval("SHOW server_version")
        raise ConfigurationError(f"{address.shown} is PostgreSQL {shown}; Mainspring needs 14 or newer")


async def _version(connection: Connection, address: Address) -> int:
    """The newest step that the schema has, or 0 for none."""
    migrated, tables = await connection.fetchrow(_FOUND, address.schema) or (False, 0)
    if not migrated and tables:
        raise StoreCorrupt(
            f"{address.shown} has tables of somebody else's in the schema {address.schema}: "
            "choose another with ?schema= in the URL"
        )
    version = int(await connection.fetchval(_VERSION) or 0) if migrated else 0
    newest = migrations()[-1][0]
    if version > newest and int(await connection.fetchval(_NEEDED)) > newest:
        raise SchemaTooNew(
            f"{address.shown} has schema {version}, but this Mainspring knows {newest}: upgrade it, or choose another"
        )
    return version


async def _apply(connection: Connection, address: Address, number: int, script: str) -> int:
    for _ in range(TRIES):
        try:
            await _try(connection, address, number, script)
        except LockNotAvailableError:
            await asyncio.sleep(PAUSE)
        else:
            return number
    raise StoreUnavailable(
        f"{address.shown} can't be brought to schema {number} while a long transaction reads its tables: "
        "wait for its end, as of a backup, and try again"
    )


async def _try(connection: Connection, address: Address, number: int, script: str) -> None:
    async with connection.transaction():
        await connection.execute(_TURN, address.schema)
        await connection.execute(BRIEFLY)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"')
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS migration ("
            "number integer NOT NULL PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        await connection.execute("ALTER TABLE migration ADD COLUMN IF NOT EXISTS needs integer")
        if (await connection.fetchval(_VERSION) or 0) < number:  # another process may have been faster
            await connection.execute(script)
            needs = oldest_program(number, script)
            await connection.execute("INSERT INTO migration (number, needs) VALUES ($1, $2)", number, needs)
