"""Counting rows in a contender's PostgreSQL database from outside."""

import psycopg


def count(url: str, statement: str) -> int:
    """The single number that *statement* answers."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    number: int = row[0]
    return number
