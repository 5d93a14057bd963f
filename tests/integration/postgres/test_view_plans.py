"""What lists, lookups and changes read doesn't grow with what is stored: at no size, and under the plans that are kept.

One test fills one schema step by step, because a million rows take a while.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.sql import SQL, Literal

from mainspring.adapters.postgres.address import DEFAULT_SCHEMA
from mainspring.adapters.postgres.engine import Purpose, settings
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.domain.suspects import MARK

SIZES = (0, 100_000, 1_000_000)
EXECUTIONS = 10
PAGE = 50
CHANGED = 20
RUNNING = 10

START = datetime.now(UTC) - timedelta(days=20)
NEWEST = UUID(int=(1 << 128) - 1)
JOB = UUID(int=7)

FILLING = (Path(__file__).parent / "filling.sql").read_text("utf-8")


@dataclass(frozen=True)
class Read:
    """A statement, values for it, and the most rows that it may look at."""

    file: str
    name: str
    values: tuple[Any, ...]
    most: int


def reads(snapshot: str, known: UUID) -> list[Read]:
    since = START - timedelta(days=1)
    no_filter = (None, None, None, None)
    few = [4, 5]
    return [
        Read("views", "run", (known, since), 2),
        Read("views", "runs", ([known] * 1, [known], [datetime.now(UTC)]), 4),
        Read("views", "records", ([known, JOB], [since, None]), 30),
        Read("views", "run_keys", (NEWEST, PAGE, *no_filter), 8 * PAGE),
        Read("views", "run_keys", (known, PAGE, "o1", [2], None, "h"), 8 * PAGE),
        Read("views", "run_keys_of_job", (NEWEST, PAGE, *no_filter, JOB, since), 8 * PAGE),
        Read("views", "job_keys", (NEWEST, PAGE, *no_filter, None, None, None, False, False), 12 * PAGE),
        Read("views", "job_keys", (known, PAGE, "o", None, None, None, None, None, few, True, False), 20 * PAGE),
        Read("views", "job_keys", (NEWEST, PAGE, *no_filter, None, None, few, False, True), 20 * PAGE),
        Read("views", "keyed", ("o", "k"), 1),
        Read("views", "dead_keys", (NEWEST, PAGE, *no_filter), 2 * PAGE),
        Read("views", "running", (), 2 * RUNNING),
        Read("views", "suspects", (MARK,), 10),
        Read("locks", "held", ("", START, "", PAGE), PAGE),
        Read("changes", "ends", (snapshot,), 2 * CHANGED + 2),
        Read("changes", "changed", (snapshot,), 6 * CHANGED),
        Read("changes", "watched", (snapshot, [JOB, known], PAGE), 6 * CHANGED),
        Read("changes", "counts", (snapshot,), 6 * CHANGED + RUNNING),
        Read("changes", "running", (snapshot, 1001), RUNNING),
        Read("changes", "jobs", (snapshot,), CHANGED),
        Read("changes", "watched_jobs", (snapshot, [JOB, known]), 2),
        Read("changes", "job_counts", (snapshot,), CHANGED),
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_read_looks_at_more_rows_because_there_are_more(postgres_url: str) -> None:
    asyncio.run(migrated(postgres_url))
    with connected(postgres_url) as connection:
        spare_the_disk(connection)
        filled = 0
        for size in SIZES:
            known = grow(connection, filled, size)
            filled = size
            snapshot = change(connection, known)
            for number, read in enumerate(reads(snapshot, known)):
                plan = plan_of(connection, f"read_{size}_{number}", read)
                looked = sum(rows_of(node) for node in nodes(plan))
                assert looked <= read.most, f"{read} at {size} rows looked at {looked}:\n{plan}"
                scans = [node for node in nodes(plan) if node["Node Type"] == "Seq Scan" and "Alias" in node]
                # Of the handlers there are few, and all are meant.
                assert all(scan["Relation Name"] in {"folded", "handler"} for scan in scans), (
                    f"{read} at {size} rows:\n{plan}"
                )


async def migrated(url: str) -> None:
    store = await PostgresStore.open(url, clock=SystemClock(), random=SystemRandom())
    await store.close()


def connected(url: str) -> psycopg.Connection:
    """A connection with the settings that reads have, but with all the time that a million rows take."""
    options = {**settings(Purpose.READ, DEFAULT_SCHEMA), "statement_timeout": "0"}
    given = " ".join(f"-c {name}={value}" for name, value in options.items())
    return psycopg.connect(url, options=given, autocommit=True, cursor_factory=psycopg.ClientCursor)


def spare_the_disk(connection: psycopg.Connection) -> None:
    """Let the tables do without a log: plans are the same, and nothing here has to survive."""
    tables = connection.execute(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace",
        [DEFAULT_SCHEMA],
    ).fetchall()
    for (table,) in tables:
        connection.execute(SQL("ALTER TABLE {} SET UNLOGGED").format(SQL(table)))


def grow(connection: psycopg.Connection, filled: int, size: int) -> UUID:
    """Fill the tables up to *size* rows, clean up as autovacuum would, and return an id from the middle of history."""
    start = int(START.timestamp() * 1000)
    if size:
        connection.execute(FILLING.encode(), {"start": start, "first": filled + 1, "last": size, "job": JOB})
        connection.execute("VACUUM ANALYZE")
    number = 5_000_000 + size // 2 + 1
    return UUID(f"{start + number * 1000:012x}" + f"{number:x}".rjust(20, "7"))


def change(connection: psycopg.Connection, known: UUID) -> str:
    """A snapshot, and a few changes since."""
    (snapshot,) = connection.execute("SELECT pg_current_snapshot()::text").fetchone() or ("",)
    connection.execute(
        """
        INSERT INTO tally (owner, lane, kind, what, amount, ids)
        VALUES ('o', 'lane', 0, 'added', 1, ARRAY(SELECT id FROM queue ORDER BY id DESC LIMIT %s)),
               ('o', 'lane', 0, 'succeeded', 1, ARRAY[%s::uuid])
        """,
        [CHANGED - 1, known],
    )
    connection.execute(
        "UPDATE job SET changed = pg_current_xact_id() WHERE id IN (SELECT id FROM job ORDER BY id LIMIT %s)", [CHANGED]
    )
    return str(snapshot)


def plan_of(connection: psycopg.Connection, name: str, read: Read) -> Mapping[str, Any]:
    """How the statement is executed when it has been executed often."""
    connection.execute(SQL("PREPARE {} AS ").format(SQL(name)) + SQL(load(read.file)[read.name]))
    values = SQL("({})").format(SQL(", ").join(map(Literal, read.values))) if read.values else SQL("")
    execute = SQL("EXECUTE {} {}").format(SQL(name), values)
    for _ in range(EXECUTIONS):
        connection.execute(execute)
    row = connection.execute(SQL("EXPLAIN (ANALYZE, FORMAT JSON) ") + execute).fetchone()
    assert row is not None
    plan: Mapping[str, Any] = row[0][0]["Plan"]
    return plan


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def rows_of(node: Mapping[str, Any]) -> int:
    """How many rows of a table a node has read."""
    if "Relation Name" not in node or "Scan" not in node["Node Type"]:
        return 0
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return int((node["Actual Rows"] + removed) * node["Actual Loops"])
