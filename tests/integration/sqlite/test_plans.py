"""What the hot statements do is a matter of their plans: no scan, no sort, nothing that grows with what only waits."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from mainspring.adapters.sqlite.connection import connect
from mainspring.adapters.sqlite.migrate import migrate
from mainspring.adapters.sqlite.statements import load
from mainspring.ports.views import WAIT_BUCKETS

ROWS = 20_000
LATER = 10**16


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    path = str(tmp_path_factory.mktemp("plans") / "store.db")
    opened = connect(path)
    migrate(opened, path)
    opened.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO queue (id, job_id, owner, project, name, kind, handler, lane, priority, timeout, payload,
                           created_at, due_at, wake_at)
        SELECT unhex(printf('%032x', i)), unhex(printf('%032x', i)), 'o', 'p', '', 0, 'h', 'default', i % 10, 1, x'', 1,
               ?2 + i, ?2 + i FROM n
        """,
        (ROWS, LATER),
    )
    opened.execute("ANALYZE")
    return opened


def plan(connection: apsw.Connection, file: str, name: str) -> str:
    statement = load(file)[name]
    values = [1] * max((int(number) for number in re.findall(r"\?(\d+)", statement)), default=0)
    return "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))


HOT = [
    ("work", "known"),
    ("work", "candidates"),
    ("work", "hand_over"),
    ("work", "handed_over"),
    ("work", "due"),
    ("work", "levels"),
    ("work", "next_wake"),
    ("work", "current"),
    ("work", "settled_before"),
    ("work", "succeed"),
    ("work", "finish"),
    ("work", "leave"),
    ("work", "put_back"),
    ("timetable", "due"),
    ("timetable", "next_wake"),
    ("timetable", "as_expected"),
    ("timetable", "advance"),
    ("sessions", "holds"),
    ("sessions", "held"),
    ("sessions", "overdue"),
    ("sessions", "ended_with_runs"),
    ("locks", "held"),
    ("views", "run"),
    ("views", "live_runs"),
    ("views", "ended_runs"),
    ("views", "live_runs_of_job"),
    ("views", "ended_runs_of_job"),
    ("views", "running"),
    ("upkeep", "old_blobs"),
    ("changes", "ends"),
    ("changes", "ended"),
    ("changes", "added"),
    ("changes", "running"),
    ("changes", "jobs"),
    ("changes", "counts"),
    ("changes", "watched_added"),
    ("changes", "watched_ended"),
    ("changes", "watched_jobs"),
    ("changes", "job_counts"),
]


@pytest.mark.parametrize(("file", "name"), HOT)
def test_no_hot_statement_scans_a_table_or_sorts(connection: apsw.Connection, file: str, name: str) -> None:
    text = plan(connection, file, name)
    tables = "queue|lower|history|job|session|lock|q|h|j"
    scans = re.findall(rf"SCAN (?:{tables})\b(?! USING (?:COVERING )?INDEX| VIRTUAL)", text)
    assert not scans, text
    assert "TEMP B-TREE FOR ORDER BY" not in text, text


def test_a_claim_steps_from_priority_to_priority_and_reads_each_from_its_oldest(connection: apsw.Connection) -> None:
    steps = plan(connection, "work", "levels")
    assert "SEARCH queue USING COVERING INDEX queue_claim (lane=?)" in steps
    assert "SEARCH lower USING COVERING INDEX queue_claim (lane=? AND priority<?)" in steps
    assert "SEARCH queue USING COVERING INDEX queue_claim (lane=? AND priority=?)" in steps
    candidates = plan(connection, "work", "candidates")
    assert "SEARCH queue USING COVERING INDEX queue_claim (lane=? AND priority=? AND wake_at<?)" in candidates


def test_what_is_due_of_a_lane_is_found_whatever_priorities_wait_there(connection: apsw.Connection) -> None:
    due = plan(connection, "work", "due")
    assert due.count("SEARCH queue USING COVERING INDEX queue_wake (lane=? AND wake_at<?)") == 2
    assert "SEARCH queue USING COVERING INDEX queue_wake (lane=? AND wake_at>?)" in due
    assert "SEARCH queue USING COVERING INDEX queue_wake (lane=?)" in plan(connection, "work", "next_wake")
    assert "SEARCH queue USING INDEX queue_wake (lane=? AND wake_at<?)" in plan(connection, "views", "due")


def test_a_claim_is_planned_once_whatever_its_values_are(connection: apsw.Connection) -> None:
    planned_anew: dict[str, int] = {}

    def note(event: dict[str, Any]) -> None:
        planned_anew[event["sql"]] = event["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"]

    statements = load("work")
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    try:
        for priority in range(3):
            connection.execute(statements["due"], ("default", LATER, priority)).get  # noqa: B018 - reads to the end
            connection.execute(statements["levels"], ("default",)).get  # noqa: B018 - the same
            connection.execute(statements["candidates"], ("default", priority, LATER, 32)).get  # noqa: B018 - the same
    finally:
        connection.trace_v2(0)
    assert list(planned_anew.values()) == [0, 0, 0]


def test_the_buckets_of_waits_are_those_of_the_port() -> None:
    bounds = re.findall(r"WHEN late <= (\d+) THEN (\d+)", load("work")["count_waits"])
    assert [timedelta(microseconds=int(bound)) for bound, _ in bounds] == list(WAIT_BUCKETS)
    assert [int(bucket) for _, bucket in bounds] == list(range(len(WAIT_BUCKETS)))


def test_every_statement_can_be_prepared(connection: apsw.Connection) -> None:
    folder = Path(__file__).parents[3] / "src/mainspring/adapters/sqlite/statements"
    for file in sorted(folder.glob("*.sql")):
        if file.stem != "fragments":
            for name in load(file.stem):
                plan(connection, file.stem, name)
