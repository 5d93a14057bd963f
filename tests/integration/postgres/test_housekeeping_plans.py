"""Heartbeats, due jobs and housekeeping find things by index, whatever was stored when they were planned."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from mainspring.adapters.postgres.engine import Purpose, settings
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock

MANY_TIMES = 10
RUNS = 100_000
RUN = "'01a1e221-d285-7dd0-870e-7f814355130e'::uuid"
AN_HOUR_AGO = "now() - interval '1 hour'"
CALLS = {
    ("sessions", "beat"): (Purpose.WATCH, "1, 1, now(), false, NULL"),
    ("sessions", "bury"): (Purpose.READ, "10"),
    ("sessions", "live"): (Purpose.READ, "'worker'"),
    ("sessions", "ended_with_runs"): (Purpose.READ, "10"),
    ("sessions", "held"): (Purpose.READ, "1, 10"),
    ("sessions", "overdue"): (Purpose.READ, "10"),
    ("timetable", "due"): (Purpose.READ, "10"),
    ("timetable", "lock"): (Purpose.WRITE, f"ARRAY[{RUN}]"),
    ("timetable", "advance"): (
        Purpose.WRITE,
        f"ARRAY[{RUN}], ARRAY[now()], ARRAY[now()], ARRAY[interval '1 s'], ARRAY[{RUN}]",
    ),
    ("timetable", "skip"): (
        Purpose.WRITE,
        f"ARRAY[{RUN}], ARRAY[{RUN}], ARRAY[now()], ARRAY[now()], ARRAY[1], ARRAY['x']",
    ),
    ("timetable", "find"): (Purpose.WRITE, RUN),
    ("upkeep", "hidden"): (Purpose.READ, f"{AN_HOUR_AGO}, 10"),
    ("upkeep", "output"): (Purpose.READ, f"{AN_HOUR_AGO}, 10"),
    ("upkeep", "keys"): (Purpose.READ, f"{AN_HOUR_AGO}, 10"),
    ("upkeep", "sessions"): (Purpose.READ, f"{AN_HOUR_AGO}, 10"),
    ("upkeep", "blobs"): (Purpose.READ, f"{AN_HOUR_AGO}, 10"),
    ("upkeep", "fold"): (Purpose.READ, "10, interval '1 s'"),
}
GROWING = r"Seq Scan on (?:queue|job|history\w*|tally)\b"
TAKEN = {
    "sessions.beat": "queue_session on queue",
    "sessions.bury": "session_alive on session",
    "sessions.live": "session_alive on session",
    "sessions.ended_with_runs": "session_pkey on session",
    "sessions.held": "queue_session on queue",
    "sessions.overdue": "queue_session on queue",
    "timetable.due": "job_wake on job",
    "timetable.lock": "job_pkey on job",
    "upkeep.output": "output_age on output",
    "upkeep.keys": "idempotency_age on idempotency",
    "upkeep.blobs": "blob_age on blob",
    "upkeep.fold": "tally_pkey on tally",
}
FILL_QUEUE = """
INSERT INTO queue (id, job_id, session, state, due_at, wake_at, timeout, kind, priority, owner, project, name, lane,
                   handler, payload)
SELECT id, id, CASE WHEN running THEN mod(number, 10) END, running::integer, now(), now(), '5 min', 0, 0, 'o', 'p', '',
       'x', 'h', ''
FROM (SELECT number, number <= 1000 AS running, gen_random_uuid() AS id FROM generate_series(1, %s) AS number) AS run
"""
FILL_HISTORY = """
INSERT INTO history (id, job_id, due_at, created_at, finished_at, timeout, fence, version, attempt, failures, losses,
                     state, kind, priority, owner, project, name, lane, handler, payload, log)
SELECT gen_random_uuid(), gen_random_uuid(), now(), now(), now(), '5 min', 1, 1, 1, 0, 0, 2, 0, 1, 'o', 'p', '', 'x',
       'h', '', ''
FROM generate_series(1, %s)
"""
FILL_JOBS = """
INSERT INTO job (id, owner, project, name, state, version, terms, handler, lane, priority, timeout, payload, created_at,
                 updated_at, next_fire_at, wake_at)
SELECT gen_random_uuid(), 'o', 'p', '', 0, 1, '', 'h', 'x', 0, '5 min', '', now(), now(), later, later
FROM (SELECT now() + number * interval '1 s' AS later FROM generate_series(1, %s) AS number) AS job
"""
FILL_TALLY = """
INSERT INTO tally (owner, lane, kind, what, amount) SELECT 'o', 'x', 0, 'added', 1 FROM generate_series(1, %s)
"""


@pytest.mark.slow
async def test_plans_that_were_made_for_an_empty_store_are_right_for_a_full_one(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url, clock=SystemClock(), random=SystemRandom())
    await store.close()
    with connected(postgres_url, Purpose.GENERAL) as administration:
        administration.execute("VACUUM ANALYZE")
        with kept_plans(postgres_url) as prepared:
            for fill in (FILL_QUEUE, FILL_HISTORY, FILL_JOBS, FILL_TALLY):
                administration.execute(fill, [RUNS])
            stale = explained(prepared)
            administration.execute("VACUUM ANALYZE")
            fresh = explained(prepared)
    for plans in (stale, fresh):
        for name, plan in plans.items():
            assert not re.search(GROWING, plan), f"{name} reads a table whole: {plan}"
        for name, index in TAKEN.items():
            assert index in plans[name], f"{name} takes another way: {plans[name]}"
        for name in ("timetable.due", "timetable.skip"):
            assert "Subplans Removed: 8" in plans[name], f"{name} looks at weeks to come: {plans[name]}"


Prepared = dict[tuple[str, str], "psycopg.Connection[tuple[str, ...]]"]


@contextmanager
def kept_plans(url: str) -> Iterator[Prepared]:
    """Each statement on a connection for its purpose, executed so often that its plan is kept; none leaves a trace."""
    with ExitStack() as opened:
        purposes = {purpose for purpose, _ in CALLS.values()}
        connections = {purpose: opened.enter_context(connected(url, purpose)) for purpose in purposes}
        for (file, name), (purpose, values) in CALLS.items():
            connection = connections[purpose]
            connection.execute(f"PREPARE {file}_{name} AS {load(file)[name]}".encode())
            for _ in range(MANY_TIMES):
                with connection.transaction(force_rollback=True):
                    connection.execute(f"EXECUTE {file}_{name} ({values})".encode())
        yield {call: connections[purpose] for call, (purpose, _) in CALLS.items()}


def explained(prepared: Prepared) -> dict[str, str]:
    plans = {}
    for (file, name), connection in prepared.items():
        call = f"EXPLAIN (COSTS OFF) EXECUTE {file}_{name} ({CALLS[file, name][1]})"
        plans[f"{file}.{name}"] = "\n".join(line for (line,) in connection.execute(call.encode()).fetchall())
    return plans


def connected(url: str, purpose: Purpose) -> "psycopg.Connection[tuple[str, ...]]":
    """A connection with the settings that the engine gives to one for this purpose."""
    told = {**settings(purpose, "mainspring"), "statement_timeout": "0", "idle_in_transaction_session_timeout": "0"}
    options = " ".join(f"-c {name}={value}" for name, value in told.items())
    return psycopg.connect(url, options=options, autocommit=True)
