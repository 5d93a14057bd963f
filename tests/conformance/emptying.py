"""A PostgreSQL store without a row: much faster than a new one."""

from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

from mainspring.adapters.postgres.address import DEFAULT_SCHEMA


def empty(connection: psycopg.Connection[Any]) -> None:
    """Delete everything but the schema, if there is one."""
    tables = connection.execute(
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = %s "
        "AND relkind IN ('r', 'p') AND NOT relispartition AND relname NOT IN ('migration', 'folded', 'identity')",
        [DEFAULT_SCHEMA],
    ).fetchall()
    statements = [SQL("DELETE FROM {}").format(Identifier(DEFAULT_SCHEMA, table)) for (table,) in tables]
    if tables:
        statements.append(SQL("UPDATE {} SET xact = '0'").format(Identifier(DEFAULT_SCHEMA, "folded")))
        connection.execute(SQL(";").join(statements))
