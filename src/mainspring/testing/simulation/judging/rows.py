"""What the store holds at the end, read past all ports: a defect there must not hide itself."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mainspring.adapters.sqlite.rows import HELD
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.domain.run import State
from mainspring.domain.suspects import home_lane

Group = tuple[str, str, int, str]
"""Owner, lane, kind and what is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A row of the queue."""

    state: State
    due: bool
    held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Everything that a property asks of the end."""

    live: dict[UUID, Live]
    ended: dict[UUID, State]
    """Skipped ranges excepted."""
    skips: frozenset[UUID]
    jobs: tuple[UUID, ...]
    active_jobs: tuple[UUID, ...]
    late_jobs: tuple[UUID, ...]
    """Active jobs with a moment that came seconds ago, which no active run holds up and nobody is about to look at."""
    dead_letters: frozenset[UUID]
    totals: Counter[Group]
    counted: Counter[Group]
    """What the totals should be, added up from the rows."""

    @property
    def restless(self) -> bool:
        """Whether anything is still to be done."""
        return any(row.state is State.RUNNING or (row.due and not row.held) for row in self.live.values())


def read(store: SqliteStore, now: int, patience: int) -> Rows:
    """Look at *now*; moments and runs count as due once they have waited for *patience* (both in microseconds)."""
    connection = store._engine._connection  # type: ignore[attr-defined]  # noqa: SLF001 - past all ports, on purpose

    def rows(statement: str, *values: Any) -> list[Any]:
        return connection.execute(statement, values).fetchall()  # type: ignore[no-any-return]

    late = rows(_LATE, now, patience)
    return Rows(
        live={
            UUID(bytes=identity): Live(state=State(state), due=wake <= now, held=wake >= HELD)
            for identity, state, wake in rows("SELECT id, state, wake_at FROM queue")
        },
        ended={
            UUID(bytes=identity): State(state)
            for identity, state in rows("SELECT id, state FROM history WHERE state <> 5")
        },
        skips=frozenset(UUID(bytes=identity) for (identity,) in rows("SELECT id FROM history WHERE state = 5")),
        jobs=tuple(UUID(bytes=identity) for (identity,) in rows("SELECT id FROM job ORDER BY id")),
        active_jobs=tuple(
            UUID(bytes=identity) for (identity,) in rows("SELECT id FROM job WHERE state = 0 ORDER BY id")
        ),
        late_jobs=tuple(UUID(bytes=identity) for (identity,) in late),
        dead_letters=frozenset(UUID(bytes=identity) for (identity,) in rows("SELECT run_id FROM dead_letter")),
        totals=_by_home(rows(_TOTALS)),
        counted=_by_home(rows(_COUNTED)),
    )


def _by_home(rows: Iterable[tuple[str, str, int, str, int]]) -> Counter[Group]:
    """A suspect counts where it belongs."""
    counts: Counter[Group] = Counter()
    for owner, lane, kind, what, amount in rows:
        counts[owner, home_lane(lane), kind, what] += amount
    return counts


_LATE = """
    SELECT id FROM job WHERE state = 0 AND next_fire_at < ?1 - ?2
      AND NOT (wake_at BETWEEN ?1 - ?2 AND ?1 + ?2) AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.id = active_run)
"""
_TOTALS = """
    SELECT owner, lane, kind, what, amount FROM total
    WHERE what IN ('added', 'succeeded', 'dead', 'cancelled', 'skipped')
"""
_COUNTED = """
    SELECT owner, lane, kind, 'added', count(*)
    FROM (SELECT owner, lane, kind FROM queue UNION ALL SELECT owner, lane, kind FROM history WHERE state <> 5)
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT owner, lane, kind,
           CASE state WHEN 2 THEN 'succeeded' WHEN 3 THEN 'dead' WHEN 4 THEN 'cancelled' ELSE 'skipped' END AS what,
           sum(iif(state = 5, coalesce(skipped_count, 1), 1))
    FROM history GROUP BY 1, 2, 3, what
"""
