"""Storing new runs and standing jobs, each once.

A key is reserved before what it stands for is stored. Whoever finds a key whose run is missing stores that run: the
process that reserved it may have died in between, and the client that repeats its request must not be turned away.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.idempotency import reserve
from mainspring.adapters.cassandra.index import of_resolved_run
from mainspring.adapters.cassandra.jobs import store_job
from mainspring.adapters.cassandra.layout import micros
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.records import new_row
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import insert, read
from mainspring.adapters.cassandra.tables import JOB
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun, Origin, State
from mainspring.ports.work import Added, Addition


@dataclass(frozen=True, slots=True)
class _Accepted:
    """A run to be stored if it isn't there, with the answer for it, and when it was accepted."""

    run: NewRun
    at: datetime
    earlier: Added | None = None
    """What its key has stood for before."""


async def add(context: Context, items: Sequence[NewRun | NewJob]) -> Sequence[Added]:
    """Store what is new, and complete what somebody else began; the answer for each item says what became of it."""
    now = context.clock.now()
    begun: dict[int, Added | _Accepted] = {}
    for wave in _waves(items):
        begun |= zip(wave, await abreast(lambda position: _begin(context, items[position], now), wave), strict=True)
    accepted = {position: each for position, each in sorted(begun.items()) if isinstance(each, _Accepted)}
    answers = {position: each for position, each in begun.items() if isinstance(each, Added)}
    answers |= zip(accepted, await _store(context, [*accepted.values()]), strict=True)
    return [answers[position] for position in range(len(items))]


def _waves(items: Sequence[NewRun | NewJob]) -> Sequence[Sequence[int]]:
    """Positions whose keys are taken abreast; the same key once more comes later: the first of a batch has it."""
    waves: list[list[int]] = []
    seen = Counter[tuple[str, str]]()
    for position, item in enumerate(items):
        owner = item.job.owner if isinstance(item, NewJob) else item.owner
        wave = 0 if item.key is None else seen[owner, item.key.text]
        if item.key is not None:
            seen[owner, item.key.text] += 1
        if wave == len(waves):
            waves.append([])
        waves[wave].append(position)
    return waves


async def _begin(context: Context, item: NewRun | NewJob, now: datetime) -> Added | _Accepted:
    """Store a job, or take the key of a run; a run is accepted unless its key stands for something else."""
    if isinstance(item, NewJob):
        return await store_job(context, item, now)
    earlier = None if item.key is None else await reserve(context, item.owner, item.key, item.id, now)
    return earlier if earlier is not None and earlier.kind is Addition.CONFLICT else _accepted(item, earlier, now)


def _accepted(run: NewRun, earlier: Added | None, now: datetime) -> _Accepted:
    """The run under the id that its key stands for, as of when it was accepted: every helper writes the same."""
    if earlier is None:
        return _Accepted(run, now)
    job_id = JobId(earlier.id) if run.one_shot else run.job_id
    return _Accepted(replace(run, id=RunId(earlier.id), job_id=job_id), earlier.at or now, earlier)


async def _store(context: Context, accepted: Sequence[_Accepted]) -> Sequence[Added]:
    known = await _known(context, accepted)
    standing = await _standing(context, {each.run.job_id for each in accepted if not each.run.one_shot})
    rows: list[Row] = []
    answers = []
    for each in accepted:
        kind = Addition.EXISTING if each.run.id in known else Addition.CREATED
        answers.append(each.earlier or Added(kind, each.run.id, each.at))
        if each.run.id not in known:
            known.add(each.run.id)
            rows.append(_row(each, standing))
    if rows:
        await insert(context, rows)
    await _resolve(context, [each.run.origin for each in accepted if each.run.origin is not None])
    await context.note([_noted(row) for row in rows])
    return answers


async def _known(context: Context, accepted: Sequence[_Accepted]) -> set[UUID]:
    """Those ids that are stored. A key may stand for a standing job, whose id is no run's."""
    found = await read(context, [each.run.id for each in accepted])
    known = {run_id for run_id, row in found.items() if number(row, "fence") > 0}
    # What was never changed may only have been seen on its way, and nobody may rely on that.
    known |= set(await read(context, found.keys() - known, settled=True))
    doubtful = {each.run.id for each in accepted if each.earlier is not None} - known
    return known | await _standing(context, doubtful)


async def _standing(context: Context, ids: Collection[UUID]) -> set[UUID]:
    found = await abreast(lambda job_id: context.rows.get(JOB, (job_id,)), sorted(ids))
    return {identity(row, "id") for rows in found for row in rows}


def _row(each: _Accepted, standing: Collection[UUID]) -> Row:
    accepted_at = micros(each.at)
    row = new_row(each.run, kind=Origin.RECURRING, now=accepted_at)
    if each.run.job_id in standing:
        return row
    kind = Origin.DELAYED if number(row, "due_at") > accepted_at else Origin.IMMEDIATE
    return {**row, "kind": int(kind)}


async def _resolve(context: Context, origins: Sequence[RunId]) -> None:
    """Who is tried again is off the list of dead letters, if he was on it: also by who repeats what another began.

    Settled: a death that was shown to somebody and never acknowledged may not be there for the next plain read.
    """
    if origins:
        found = await read(context, origins, settled=True)
        dead = [row for row in found.values() if row["state"] == State.DEAD]
        await context.rows.put([of_resolved_run(row) for row in dead])


def _noted(row: Row) -> Noted:
    return Noted(
        id=identity(row, "id"),
        job_id=identity(row, "job_id"),
        owner=text(row, "owner"),
        fence=0,
        state=int(State.WAITING),
        lane=Lane(text(row, "lane")),
        kind=Origin(number(row, "kind")),
        added=1,
    )
