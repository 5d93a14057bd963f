"""What the hot statements do is a matter of their plans: the same for an empty queue and for a million waiting runs.

An empty queue is vacuumed and analysed as a matter of course: a plan that was made then must still be right when it is
full. Each size is one test, because filling the tables takes longer than looking at all the plans.
"""

import re

import psycopg
import pytest

from mainspring.adapters.postgres.engine import Purpose, settings
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock

STATEMENTS = {**load("work"), **load("tickets")}
PURPOSES = {
    "add": Purpose.WRITE,
    "copied": Purpose.WRITE,
    "known": Purpose.WRITE,
    "keys_taken": Purpose.WRITE,
    "take_keys": Purpose.WRITE,
    "standing": Purpose.WRITE,
    "insert_runs": Purpose.WRITE,
    "insert_jobs": Purpose.WRITE,
    "claim": Purpose.CLAIM,
    "claim_in_turn": Purpose.CLAIM,
    "next_wakes": Purpose.WATCH,
    "succeed": Purpose.SETTLE,
    "succeed_with": Purpose.SETTLE,
    "settled_before": Purpose.SETTLE,
    "lock_runs": Purpose.SETTLE,
    "finish": Purpose.SETTLE,
    "put_back": Purpose.SETTLE,
    "count": Purpose.SETTLE,
    "steered": Purpose.WRITE,
    "ended_state": Purpose.WRITE,
    "flag": Purpose.WRITE,
    "cancel_waiting": Purpose.WRITE,
    "hold": Purpose.WRITE,
    "release": Purpose.WRITE,
    "edit_task": Purpose.WRITE,
    "move_count": Purpose.WRITE,
    "edit_rest": Purpose.WRITE,
    "discard": Purpose.WRITE,
    "hide": Purpose.WRITE,
    "take": Purpose.CLAIM,
    "start": Purpose.SETTLE,
}
VALUES = {
    "uuid": "'01a1e221-d285-7dd0-870e-7f814355130e'::uuid",
    "text": "'x'::text",
    "bytea": "''::bytea",
    "smallint": "1::smallint",
    "integer": "1::integer",
    "bigint": "1::bigint",
    "boolean": "true",
    "interval": "interval '1 s'",
    "timestamp with time zone": "now() - interval '1 day'",
}
MANY_TIMES = 10
PRIORITIES = 10
PARTITIONS = 9

FILL_QUEUE = """
INSERT INTO queue (id, job_id, due_at, wake_at, timeout, kind, priority, owner, project, name, lane, handler, payload)
SELECT id, id, later, later, '5 min', 0, mod(number, %s), 'o', 'p', '', 'x', 'h', 'null' FROM (
    SELECT number, lpad(to_hex(number), 32, '0')::uuid AS id, now() + '30 days' + number * interval '1 s' AS later
    FROM generate_series(1, %s) AS number
) AS run
"""
FILL_HISTORY = """
INSERT INTO history (id, job_id, due_at, created_at, finished_at, timeout, fence, version, attempt, failures, losses,
                     state, kind, priority, owner, project, name, lane, handler, payload, log)
SELECT id, id, now(), now(), now(), '5 min', 1, 1, 1, 0, 0, 2, 0, 1, 'o', 'p', '', 'x', 'h', 'null', '' FROM (
    SELECT ('e' || lpad(to_hex(number), 31, '0'))::uuid AS id FROM generate_series(1, %s) AS number
) AS run
"""
OPEN_SESSION = """
INSERT INTO session (role, name, host, pid, capacity, lanes, ttl, expires_at)
VALUES ('worker', 'w', 'h', 1, 1, '{x}', '1 h', now() + interval '1 h')
"""
LOCKED_BY_ID = ("succeed", "succeed_with", "lock_runs", "finish", "put_back", "steered", "start")
FED_WITH_ARRAYS = ("add", "insert_runs", "succeed", "succeed_with", "finish", "put_back", "start")
BOUNDED = ("add", "copied", "known", "settled_before", "ended_state", "hide")
"""Statements that look into history, and are told before which moment nothing in question ended."""


@pytest.mark.slow
@pytest.mark.parametrize("runs", [0, 100_000, 1_000_000])
async def test_the_plans_are_right_however_many_runs_wait(postgres_url: str, runs: int) -> None:
    await fill(postgres_url, runs)
    plans = {name: plan(postgres_url, name) for name in STATEMENTS}
    for name, found in plans.items():
        assert not re.search(r"Seq Scan on", found), f"{name} reads a table whole: {found}"
    for name in ("claim", "claim_in_turn", "take"):
        assert "Tid Scan on queue" in plans[name], f"{name} looks for rows that it has just locked: {plans[name]}"
        assert indexes(plans[name]) == {"queue_claim"}, f"{name} takes another way than by rank: {plans[name]}"
    for name in LOCKED_BY_ID:
        assert indexes(plans[name]) == {"queue_pkey"}, f"{name} takes another way than by id: {plans[name]}"
    for name in FED_WITH_ARRAYS:
        assert "Nested Loop" not in plans[name], f"{name} compares each row with each item: {plans[name]}"
    for name in ("add", "succeed", "succeed_with", "take", "start"):
        assert "hashed SubPlan" in plans[name], f"{name} goes through a list for each row: {plans[name]}"
    for name in BOUNDED:
        pruned = sum(map(int, re.findall(r"Subplans Removed: (\d+)", plans[name])))
        assert pruned >= PARTITIONS - 2, f"{name} looks at weeks that don't come into question: {plans[name]}"
    for name in ("claim", "claim_in_turn", "next_wakes", "take"):
        found = plan(postgres_url, name, "ANALYZE, BUFFERS, TIMING OFF, COSTS OFF")
        assert pages_read(found) <= PRIORITIES * 20, f"{name} reads more the more runs wait: {found}"


def test_every_statement_is_looked_at_on_a_connection_for_its_purpose() -> None:
    assert set(PURPOSES) == set(STATEMENTS)


async def fill(url: str, runs: int) -> None:
    """So many runs that wake next month, a tenth as many that have ended, a live session, and exact statistics."""
    store = await PostgresStore.open(url, clock=SystemClock(), random=SystemRandom())
    await store.close()
    with connected(url, Purpose.GENERAL) as connection:
        connection.execute("ALTER TABLE queue SET UNLOGGED")  # as good for plans, and filled in half the time
        connection.execute(FILL_QUEUE, (PRIORITIES, runs))
        connection.execute(FILL_HISTORY, (runs // 10,))
        connection.execute(OPEN_SESSION)
        connection.execute("VACUUM ANALYZE")


def connected(url: str, purpose: Purpose) -> "psycopg.Connection[tuple[str, ...]]":
    """A connection with the settings that the engine gives to one for this purpose."""
    told = {**settings(purpose, "mainspring"), "statement_timeout": "0"}
    options = " ".join(f"-c {name}={value}" for name, value in told.items())
    return psycopg.connect(url, options=options, autocommit=True)


def plan(url: str, name: str, options: str = "COSTS OFF") -> str:
    """The plan that is kept after many executions, none of which leaves a trace."""
    with connected(url, PURPOSES[name]) as connection:
        connection.execute(f"PREPARE hot AS {STATEMENTS[name]}".encode())
        row = connection.execute(
            "SELECT array_agg(type::text ORDER BY place) FROM pg_prepared_statements, "
            "unnest(parameter_types) WITH ORDINALITY AS parameter (type, place) WHERE name = 'hot'"
        ).fetchone()
        assert row is not None
        call = f"EXECUTE hot ({', '.join(value(type_) for type_ in row[0])})"
        for _ in range(MANY_TIMES):
            with connection.transaction(force_rollback=True):
                connection.execute(call.encode())
        with connection.transaction(force_rollback=True):
            lines = connection.execute(f"EXPLAIN ({options}) {call}".encode()).fetchall()
    return "\n".join(line for (line,) in lines)


def value(type_: str) -> str:
    """Any value of a type."""
    if type_.endswith("[]"):
        return f"ARRAY[{VALUES[type_.removesuffix('[]')]}]"
    return VALUES[type_]


def indexes(found: str) -> set[str]:
    """Those by which a plan reads the queue."""
    return set(re.findall(r"Scan using (\w+) on queue", found))


def pages_read(found: str) -> int:
    """How many pages the execution touched."""
    buffers = re.search(r"Buffers: shared hit=(\d+)(?: read=(\d+))?", found)
    assert buffers is not None, found
    return sum(int(number or 0) for number in buffers.groups())
