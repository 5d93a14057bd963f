"""Bringing a store's schema up to date: numbered steps, forward only, each in a transaction under the write lock."""

from importlib import resources

import apsw

from mainspring.adapters.sqlite.connection import translated
from mainspring.errors import SchemaTooNew, StoreCorrupt

APPLICATION_ID = 0x4D535052
"""Says in the file's header that it is a Mainspring store."""


def migrations() -> list[tuple[int, str]]:
    """All steps in order, as (number, SQL)."""
    folder = resources.files(__package__) / "migrations"
    steps = [(int(file.name[:4]), file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(steps)


def migrate(connection: apsw.Connection, path: str) -> int:
    """Apply what is missing and return the schema's version; a newer or foreign file is refused untouched."""
    steps = migrations()
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _current(connection, path, newest=steps[-1][0])
            for number, script in steps:
                if number > version:
                    connection.execute(script)
                    version = number
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return version


def _current(connection: apsw.Connection, path: str, newest: int) -> int:
    version = int(connection.pragma("user_version"))
    tables = int(connection.execute("SELECT count(*) FROM sqlite_schema").get)
    if tables and connection.pragma("application_id") != APPLICATION_ID:
        raise StoreCorrupt(f"{path} is an SQLite file, but not a Mainspring store: choose another --store")
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, but this Mainspring knows {newest}: upgrade it, or choose another store"
        )
    return version
