"""Bringing a store's schema up to date: numbered steps, forward only, each in a transaction under the write lock."""

from importlib import resources

import apsw

from mainspring.adapters.sqlite.connection import translated
from mainspring.adapters.tolerance import oldest_program
from mainspring.errors import SchemaTooNew, StoreCorrupt

APPLICATION_ID = 0x4D535052
"""Says in the file's header that it is a Mainspring store."""

_NOTES = "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, needs INTEGER NOT NULL) STRICT"


def migrations() -> list[tuple[int, str]]:
    """All steps in order, as (number, SQL)."""
    folder = resources.files(__package__) / "migrations"
    steps = [(int(file.name[:4]), file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".sql")]
    return sorted(steps)


def migrate(connection: apsw.Connection, path: str) -> int:
    """Apply what is missing and return the schema's version; a newer or foreign file is refused untouched.

    A newer one isn't if its steps leave programs like this one able to work.
    """
    steps = migrations()
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _current(connection, path, newest=steps[-1][0])
            for number, script in steps:
                if number > version:
                    connection.execute(script)
                    _note(connection, number, needs=oldest_program(number, script))
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
    if version > newest and _needed(connection, version) > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, but this Mainspring knows {newest}: upgrade it, or choose another store"
        )
    return version


def _note(connection: apsw.Connection, number: int, needs: int) -> None:
    connection.execute(_NOTES)
    connection.execute("INSERT INTO migration (number, needs) VALUES (?, ?)", (number, needs))


def _needed(connection: apsw.Connection, version: int) -> int:
    """The oldest schema whose programs work on the file; *version* itself where nothing was noted of it."""
    noted = "SELECT max(needs) FROM migration HAVING max(number) = ?"
    needs: int | None = connection.execute(noted, (version,)).get
    return version if needs is None else needs
