"""What a cluster holds at the end, read past all ports and all quorums."""

from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.rows import ALL
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import DEAD, JOB, RUN
from mainspring.domain.job import JobState
from mainspring.domain.run import State
from mainspring.testing.rows.cluster import Cluster
from mainspring.testing.rows.dictionary import whole
from mainspring.testing.simulation.judging.rows import Live, Rows


def read_cells(cluster: Cluster, now: int, patience: int) -> Rows:
    """Look at *now*; moments count as late once they have waited for *patience* (both in microseconds).

    There are no totals to compare: what a process has decided in the instant in which it died is missing from them.
    """
    runs: dict[UUID, Any] = {row["id"]: row for row in _rows(cluster, RUN)}
    jobs = sorted(_rows(cluster, JOB), key=lambda row: row["id"])
    live = {identity: row for identity, row in runs.items() if not State(row["state"]).terminal}
    return Rows(
        live={
            identity: Live(
                state=State(row["state"]),
                due=row["wake_at"] is not None and row["wake_at"] <= now,
                held=row["wake_at"] is None,
            )
            for identity, row in live.items()
        },
        ended={
            identity: State(row["state"])
            for identity, row in runs.items()
            if identity not in live and row["state"] != State.SKIPPED
        },
        skips=frozenset(identity for identity, row in runs.items() if row["state"] == State.SKIPPED),
        jobs=tuple(row["id"] for row in jobs),
        active_jobs=tuple(row["id"] for row in jobs if row["state"] == JobState.ACTIVE),
        late_jobs=tuple(row["id"] for row in jobs if _late(row, now, patience) and row["active_run"] not in live),
        dead_letters=frozenset(
            row["id"]
            for row in _rows(cluster, DEAD)
            if not row["resolved"] and row["id"] in runs and runs[row["id"]]["state"] == State.DEAD
        ),
        totals=Counter(),
        counted=Counter(),
    )


def _rows(cluster: Cluster, table: Table) -> Iterator[Any]:
    for home in cluster.homes(table):
        for key, row in home.firm.read(ALL):
            yield whole(table, home.key, key, row)


def _late(job: Any, now: int, patience: int) -> bool:
    if job["state"] != JobState.ACTIVE or job["next_fire_at"] is None or job["next_fire_at"] >= now - patience:
        return False
    return job["wake_at"] is None or abs(job["wake_at"] - now) > patience
