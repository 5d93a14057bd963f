"""The Changes port on SQLite: places in the numbers that rows get anyway."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, identity, to_instant, to_instant_or_none
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Fence, JobId, RunId, Version
from mainspring.domain.job import JobState
from mainspring.domain.run import State
from mainspring.ports.changes import MOST_BEHIND, MOST_RUNNING, Batch, Count, JobChange, Position, RunChange

_SQL = load("changes")
_POSITION = re.compile(r"(\d{1,18})\.(\d{1,18})\.(\d{1,18})\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Place:
    """The last numbers that somebody has seen, and the latest start.

    Writers take turns and read the clock in theirs, so that whatever starts later has a later time.
    """

    ended: int
    added: int
    jobs: int
    started: int

    @property
    def position(self) -> Position:
        return Position(".".join(map(str, astuple(self))))


class SqliteChanges:
    """Reads beside the writer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def position(self) -> Position:
        """The last numbers given out."""
        return await self._engine.read(lambda transaction: _ends(transaction)[1].position)

    async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
        """Rows with greater numbers."""
        match = _POSITION.fullmatch(position)
        if match is None:
            return None
        place = _Place(*map(int, match.groups()))
        return await self._engine.read(partial(_since, place=place, most=most, watched=watched))


def _since(transaction: Transaction, place: _Place, most: int, watched: Sequence[JobId]) -> Batch | None:
    oldest, now = _ends(transaction)
    behind = (now.ended - place.ended, now.added - place.added, now.jobs - place.jobs)
    if place.ended + 1 < oldest or min(behind) < 0 or sum(behind) > MOST_BEHIND:
        return None
    position = _Place(now.ended, now.added, now.jobs, max(now.started, place.started)).position
    running = _running(transaction)
    started = [] if running is None else [run for run in running.values() if _started_after(run, place)]
    if running is None or sum(behind) + len(started) > most:
        asked = dump([job_id.hex for job_id in watched])
        return Batch(
            position=position,
            runs=_watched(transaction, place, most, asked, [run for run in started if run.job_id in watched]),
            jobs=_jobs(transaction, "watched_jobs", place.jobs, asked),
            counts=_counts(transaction, place),
            running=running,
        )
    ended = _runs(transaction, "ended", place.ended)
    added = _runs(transaction, "added", place.added)
    return Batch(
        position=position,
        runs=_once([*added, *started, *ended]),
        jobs=_jobs(transaction, "jobs", place.jobs),
        running=running,
    )


def _ends(transaction: Transaction) -> tuple[int, _Place]:
    """The oldest end that can still be told, and the place where everything has been told."""
    first, ended, added, jobs, started = json.loads(transaction.value(_SQL["ends"]))
    return ended + 1 if first is None else first, _Place(ended, added, jobs, started)


def _running(transaction: Transaction) -> Mapping[RunId, RunChange] | None:
    runs = _runs(transaction, "running", MOST_RUNNING + 1)
    return None if len(runs) > MOST_RUNNING else {run.id: run for run in runs}


def _started_after(run: RunChange, place: _Place) -> bool:
    return run.started_at is not None and run.started_at > to_instant(place.started)


def _watched(
    transaction: Transaction, place: _Place, most: int, jobs: str, started: Sequence[RunChange]
) -> Sequence[RunChange]:
    added = _runs(transaction, "watched_added", place.added, jobs, most)
    ended = _runs(transaction, "watched_ended", place.ended, jobs, most)
    return _once([*reversed(added), *started, *reversed(ended)])[-most:]


def _counts(transaction: Transaction, place: _Place) -> Mapping[str, Count]:
    runs: dict[str, dict[State, int]] = {}
    for owner, state, amount in json.loads(transaction.value(_SQL["counts"], place.ended, place.added, place.started)):
        runs.setdefault(owner, {})[State(state)] = amount
    jobs: dict[str, int] = dict(json.loads(transaction.value(_SQL["job_counts"], place.jobs)))
    return {owner: Count(runs=runs.get(owner, {}), jobs=jobs.get(owner, 0)) for owner in sorted({*runs, *jobs})}


def _once(runs: Iterable[RunChange]) -> Sequence[RunChange]:
    return list({run.id: run for run in runs}.values())


def _runs(transaction: Transaction, statement: str, *values: Any) -> list[RunChange]:
    return [_run_from(fields) for fields in json.loads(transaction.value(_SQL[statement], *values))]


def _run_from(fields: list[Any]) -> RunChange:
    run_id, job_id, owner, name, handler, state, fence, attempt, worker, due_at, started_at, finished_at, reason = (
        fields
    )
    return RunChange(
        id=RunId(identity(run_id)),
        job_id=JobId(identity(job_id)),
        owner=owner,
        name=name,
        handler=handler,
        state=State(state),
        fence=Fence(fence),
        attempt=attempt,
        worker=worker,
        due_at=to_instant(due_at),
        started_at=to_instant_or_none(started_at),
        finished_at=to_instant_or_none(finished_at),
        reason=reason,
    )


def _jobs(transaction: Transaction, statement: str, *values: Any) -> Sequence[JobChange]:
    return [
        JobChange(
            id=JobId(identity(job_id)),
            owner=owner,
            name=name,
            handler=handler,
            state=JobState(state),
            version=Version(version),
            next_fire_at=to_instant_or_none(next_fire_at),
        )
        for job_id, owner, name, handler, state, version, next_fire_at in json.loads(
            transaction.value(_SQL[statement], *values)
        )
    ]
