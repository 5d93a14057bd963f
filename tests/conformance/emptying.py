"""A PostgreSQL store without a row: much faster than a new one."""

import psycopg
from psycopg.sql import SQL, Identifier

from mainspring.adapters.postgres.address import DEFAULT_SCHEMA


def empty(url: str) -> None:
    """Delete everything but the schema, if there is one."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s "
            "AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN ('migration', 'folded')",
            [DEFAULT_SCHEMA],
        ).fetchall()
        for (table,) in tables:
            connection.execute(SQL("DELETE FROM {}").format(Identifier(DEFAULT_SCHEMA, table)))
        if tables:
            connection.execute(SQL("UPDATE {} SET xact = '0'").format(Identifier(DEFAULT_SCHEMA, "folded")))
