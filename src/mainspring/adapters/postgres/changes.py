"""The Changes port on PostgreSQL: places are snapshots, and new is what they couldn't see."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from mainspring.adapters.postgres.engine import Connection, Engine, Purpose
from mainspring.adapters.postgres.rows import Row
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Fence, JobId, RunId, Version
from mainspring.domain.job import JobState
from mainspring.domain.run import State
from mainspring.ports.changes import MOST_BEHIND, MOST_RUNNING, Batch, Count, JobChange, Position, RunChange

_SQL = load("changes")
_POSITION = re.compile(r"(\d{1,18})\.(\d{1,18})\.((?:\d{1,18}(?:_\d{1,18})*)?)", re.ASCII)

Snapshot: TypeAlias = tuple[int, int, Sequence[int]]
"""All transactions before the first number had ended, none from the second on; in between, these hadn't."""


@dataclass(frozen=True, slots=True)
class _Running:
    """What is in workers' hands, unless that is too much to tell, and what wasn't before."""

    all: Mapping[RunId, RunChange] | None
    started: Sequence[RunChange]


class PostgresChanges:
    """Reads of one snapshot each, which is the place to go on from."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def position(self) -> Position:
        """The snapshot of now."""
        return _position(await self._engine.value(_SQL["position"], purpose=Purpose.READ))

    async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
        """What wasn't visible at *position*."""
        seen = _snapshot(position)
        if seen is None:
            return None
        return await self._engine.read(partial(_since, seen=seen, most=most, watched=watched))


async def _since(connection: Connection, seen: Snapshot, most: int, watched: Sequence[JobId]) -> Batch | None:
    now, lost, runs, jobs = await _ends(connection, seen)
    if lost or runs + jobs > MOST_BEHIND:
        return None
    running = await _running(connection, seen)
    if running.all is None or runs + jobs + len(running.started) > most:
        return Batch(
            position=_position(now),
            runs=await _watched(connection, seen, most, watched, running.started) if watched else (),
            jobs=await _jobs(connection, "watched_jobs", seen, watched) if watched else (),
            counts=await _counts(connection, seen),
            running=running.all,
        )
    changed = await connection.fetch(_SQL["changed"], seen) if runs else []
    if any(row[0] is None for row in changed):
        return None
    return Batch(
        position=_position(now),
        runs=_once([*map(_run_from, changed), *running.started]),
        jobs=await _jobs(connection, "jobs", seen) if jobs else (),
        running=running.all,
    )


async def _ends(connection: Connection, seen: Snapshot) -> tuple[Snapshot, bool, int, int]:
    """Where we are now, whether something since *seen* can't be told any more, and how many runs and jobs can."""
    ((now, lost, runs, jobs),) = await connection.fetch(_SQL["ends"], seen)
    return now, lost, runs, jobs


async def _running(connection: Connection, seen: Snapshot) -> _Running:
    rows = await connection.fetch(_SQL["running"], seen, MOST_RUNNING + 1)
    if len(rows) > MOST_RUNNING:
        return _Running(None, ())
    runs = [(_run_from(row[:-1]), row[-1]) for row in rows]
    return _Running({run.id: run for run, _ in runs}, [run for run, new in runs if new])


async def _watched(
    connection: Connection, seen: Snapshot, most: int, jobs: Sequence[JobId], started: Sequence[RunChange]
) -> Sequence[RunChange]:
    changed = map(_run_from, await connection.fetch(_SQL["watched"], seen, jobs, most))
    asked = frozenset(jobs)
    return _once([*reversed(list(changed)), *(run for run in started if run.job_id in asked)])[-most:]


async def _counts(connection: Connection, seen: Snapshot) -> Mapping[str, Count]:
    runs: dict[str, dict[State, int]] = {}
    for owner, state, amount in await connection.fetch(_SQL["counts"], seen):
        runs.setdefault(owner, {})[State(state)] = amount
    jobs: dict[str, int] = {row[0]: row[1] for row in await connection.fetch(_SQL["job_counts"], seen)}
    return {owner: Count(runs=runs.get(owner, {}), jobs=jobs.get(owner, 0)) for owner in sorted({*runs, *jobs})}


async def _jobs(connection: Connection, statement: str, *values: Any) -> Sequence[JobChange]:
    return [
        JobChange(
            id=JobId(job_id),
            owner=owner,
            name=name,
            handler=handler,
            state=JobState(state),
            version=Version(version),
            next_fire_at=next_fire_at,
        )
        for job_id, owner, name, handler, state, version, next_fire_at in await connection.fetch(
            _SQL[statement], *values
        )
    ]


def _once(runs: Iterable[RunChange]) -> Sequence[RunChange]:
    return list({run.id: run for run in runs}.values())


def _run_from(row: Row) -> RunChange:
    run_id, job_id, owner, name, handler, state, fence, attempt, worker, due_at, started_at, finished_at, reason = row
    return RunChange(
        id=RunId(run_id),
        job_id=JobId(job_id),
        owner=owner,
        name=name,
        handler=handler,
        state=State(state),
        fence=Fence(fence),
        attempt=attempt,
        worker=worker,
        due_at=due_at,
        started_at=started_at,
        finished_at=finished_at,
        reason=reason,
    )


def _position(snapshot: Snapshot) -> Position:
    first, beyond, pending = snapshot
    return Position(f"{first}.{beyond}.{'_'.join(map(str, pending))}")


def _snapshot(position: Position) -> Snapshot | None:
    """The snapshot that a position stands for, or None if the server couldn't have made it."""
    match = _POSITION.fullmatch(position)
    if match is None:
        return None
    first, beyond = int(match[1]), int(match[2])
    pending = [int(number) for number in match[3].split("_") if number]
    ordered = [first - 1, *pending, beyond]
    if first < 1 or first > beyond or any(one >= two for one, two in pairwise(ordered)):
        return None
    return first, beyond, pending
