"""Counting rows in a contender's SQLite file from outside."""

import sqlite3
from contextlib import closing
from pathlib import Path


def count(database: Path, statement: str) -> int:
    """The single number that *statement* answers. Opens for writing: a killed writer's WAL has to be recovered."""
    with closing(sqlite3.connect(database, timeout=10)) as connection:
        answer: int = connection.execute(statement).fetchone()[0]
        return answer
