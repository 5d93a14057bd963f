"""Storing new runs and standing jobs, each once.

Plain one-shot jobs take one statement, and so do all that come while others are under way; many at once are copied.
What has a key, an origin or a standing job is judged in a transaction.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeGuard
from uuid import UUID

import asyncpg

from mainspring.adapters.postgres.audit import append
from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.coalesce import Coalescer
from mainspring.adapters.postgres.copying import NotNew, copy
from mainspring.adapters.postgres.engine import Connection, Engine, Purpose
from mainspring.adapters.postgres.rows import Row, instant, kept_retry, task_fields
from mainspring.adapters.postgres.statements import load
from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun
from mainspring.errors import StoreUnavailable
from mainspring.ports.signals import SOON, Herald, lane_topic
from mainspring.ports.work import Added, Addition, Note

MOST_TOGETHER = 1000
"""Items of several callers that share a statement; more are worth one of their own."""
WORTH_COPYING = 500
"""Fewer don't make up for the round trips of a transaction."""

_SQL = load("work")
_Item = NewRun | NewJob
_DELAY, _LANE = 8, 10


class Adder:
    """Stores what is given, for many callers at once."""

    def __init__(self, engine: Engine, herald: Herald | None) -> None:
        self._engine = engine
        self._herald = herald
        self._add_plain = Coalescer(self._plain, most=MOST_TOGETHER)
        self._add_judged = Coalescer(self._judged, most=MOST_TOGETHER)

    async def add(self, items: Sequence[_Item], *, together: bool, note: Note | None = None) -> Sequence[Added]:
        """Store what is new; the answer for each item says what became of it."""
        if _all_plain(items):  # nothing here can conflict
            return await self._add_plain(items) if note is None else await self._plain(items, note)
        if together or note is not None:
            return await self._judged(items, together=together, note=note)
        return await self._add_judged(items)

    async def _plain(self, runs: Sequence[NewRun], note: Note | None = None) -> Sequence[Added]:
        if len(runs) >= WORTH_COPYING and (copied := await self._copied(runs, note)) is not None:
            return copied
        try:
            with self._announced(runs) as values:
                if note is None:
                    return _plain_answers(runs, await self._engine.row(_SQL["add"], *values, purpose=Purpose.WRITE))
                return await self._engine.write(partial(_add_plain, runs=runs, values=values, note=note), Purpose.WRITE)
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, asyncpg.UniqueViolationError):
                raise
        # Somebody is storing the same id. What expects that costs every row more, and so comes second.
        return await self._judged(runs, note=note)

    async def _copied(self, runs: Sequence[NewRun], note: Note | None) -> Sequence[Added] | None:
        """The same at half the price where all are new; None if one isn't, or can't be written down."""
        try:
            return await self._engine.write(partial(_copy, runs=runs, note=note), Purpose.WRITE)
        except (NotNew, UnicodeEncodeError):
            return None

    @contextmanager
    def _announced(self, runs: Sequence[NewRun]) -> Iterator[Sequence[Any]]:
        """What the statement takes: the runs as columns, and how workers are told of them, if by itself."""
        columns = _columns(runs)
        telling = nullcontext() if self._herald is None else self._herald.announcing(_topics(columns))
        with telling as notice:
            told = (None, None) if notice is None else (notice.channel, notice.payload)
            yield [*columns, earliest_end(columns[0]), *told]

    async def _judged(
        self, items: Sequence[_Item], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        adding = partial(_add, items=items, together=together, note=note)
        while True:
            try:
                return await self._engine.write(adding, Purpose.WRITE)
            except _Withheld as withheld:
                return withheld.answers
            except _Outrun:
                continue  # a key was taken by somebody else, whom the next look will see


class _Withheld(Exception):
    """Something conflicts, and nothing is to be stored."""

    def __init__(self, answers: Sequence[Added]) -> None:
        super().__init__()
        self.answers = answers


class _Outrun(Exception):
    """Somebody else took a key between the look at it and the hand on it."""


async def insert_runs(connection: Connection, runs: Sequence[NewRun], standing: Collection[UUID]) -> Collection[UUID]:
    """Store runs, those of *standing* jobs among them, and return the ids that weren't in the queue already.

    Whether one of them has ended before is for the caller to know: see `known_ids`.
    """
    if not runs:
        return ()
    rows = await connection.fetch(
        _SQL["insert_runs"],
        *_columns(runs),
        [run.job_id for run in runs],
        [run.origin for run in runs],
        [None if run.key is None else run.key.text for run in runs],
        [run.job_id in standing for run in runs],
    )
    return {run_id for (run_id,) in rows}


async def known_ids(connection: Connection, ids: Sequence[UUID]) -> tuple[datetime, Collection[UUID]]:
    """The transaction's now, and those of *ids* that are stored already, live, ended or as a standing job."""
    row = await connection.fetchrow(_SQL["known"], ids, earliest_end(ids))
    assert row is not None  # noqa: S101 - the statement always answers
    return row[0], set(row[1])


async def _add_plain(
    connection: Connection, runs: Sequence[NewRun], values: Sequence[Any], note: Note
) -> Sequence[Added]:
    answers = _plain_answers(runs, await connection.fetchrow(_SQL["add"], *values))
    await append(connection, note(answers))
    return answers


async def _copy(connection: Connection, runs: Sequence[NewRun], note: Note | None) -> Sequence[Added]:
    now = await copy(connection, runs)
    answers = [Added(Addition.CREATED, run.id, now) for run in runs]
    if note is not None:
        await append(connection, note(answers))
    return answers


async def _add(connection: Connection, items: Sequence[_Item], *, together: bool, note: Note | None) -> Sequence[Added]:
    answers = await _judge(connection, items)
    if together and any(answer.kind is Addition.CONFLICT for answer in answers):
        raise _Withheld(_withheld(answers))
    created = [item for item, answer in zip(items, answers, strict=True) if answer.kind is Addition.CREATED]
    await _take_keys(connection, created)
    runs = [item for item in created if isinstance(item, NewRun)]
    stored = {
        *await insert_runs(connection, runs, await _standing(connection, runs)),
        *await _insert_jobs(connection, [item for item in created if isinstance(item, NewJob)]),
    }
    taken = [
        Added(Addition.EXISTING, answer.id, answer.at)
        if answer.kind is Addition.CREATED and answer.id not in stored  # others were storing the same id
        else answer
        for answer in answers
    ]
    if note is not None:
        await append(connection, note(taken))
    return taken


async def _judge(connection: Connection, items: Sequence[_Item]) -> list[Added]:
    identities = [_id(item) for item in items]
    taken = await _keys_taken(connection, items)
    now, known = await known_ids(connection, identities)
    seen = set(known)
    answers = []
    for item, identifier in zip(items, identities, strict=True):
        key = item.key
        earlier = None if key is None else taken.get((_owner(item), key.text))
        if earlier is not None and key is not None:
            kind = Addition.EXISTING if earlier[1] == key.body else Addition.CONFLICT
            answers.append(Added(kind, earlier[0]))
            continue
        answers.append(Added(Addition.EXISTING if identifier in seen else Addition.CREATED, identifier, now))
        seen.add(identifier)
        if key is not None:
            taken[_owner(item), key.text] = (identifier, key.body)
    return answers


async def _keys_taken(connection: Connection, items: Sequence[_Item]) -> dict[tuple[str, str], tuple[UUID, bytes]]:
    asked = [(_owner(item), item.key.text) for item in items if item.key is not None]
    if not asked:
        return {}
    owners, keys = zip(*asked, strict=True)
    rows = await connection.fetch(_SQL["keys_taken"], list(set(owners)), keys)
    return {(owner, key): (identifier, body) for owner, key, identifier, body in rows}


async def _take_keys(connection: Connection, created: Sequence[_Item]) -> None:
    rows = [(_owner(item), item.key.text, _id(item), item.key.body) for item in created if item.key is not None]
    if rows and len(await connection.fetch(_SQL["take_keys"], *zip(*rows, strict=True))) < len(rows):
        raise _Outrun


async def _standing(connection: Connection, runs: Sequence[NewRun]) -> Collection[UUID]:
    asked = list({run.job_id for run in runs if not run.one_shot})
    if not asked:
        return ()
    return {job_id for (job_id,) in await connection.fetch(_SQL["standing"], asked)}


async def _insert_jobs(connection: Connection, jobs: Sequence[NewJob]) -> Collection[UUID]:
    if not jobs:
        return ()
    rows = await connection.fetch(_SQL["insert_jobs"], *zip(*(_job_fields(item) for item in jobs), strict=True))
    return {job_id for (job_id,) in rows}


def _all_plain(items: Sequence[_Item]) -> TypeGuard[Sequence[NewRun]]:
    """Whether these are one-shot jobs that nothing but their ids can repeat."""
    for item in items:  # no generator: most calls bring one item, and this is a good part of what theirs costs here
        if not (isinstance(item, NewRun) and item.key is None and item.origin is None and item.one_shot):
            return False
    return True


def _plain_answers(runs: Sequence[NewRun], row: "Row | None") -> Sequence[Added]:
    assert row is not None  # noqa: S101 - the statement always answers
    now, new, _ = row
    if new is None:
        return [Added(Addition.CREATED, run.id, now) for run in runs]
    return _told_apart(runs, set(new), now)


def _told_apart(runs: Sequence[NewRun], new: set[UUID], now: datetime) -> Sequence[Added]:
    answers = []
    for run in runs:
        answers.append(Added(Addition.CREATED if run.id in new else Addition.EXISTING, run.id, now))
        new.discard(run.id)
    return answers


def _withheld(answers: Sequence[Added]) -> Sequence[Added]:
    """What is new isn't stored after all, nor is what repeats it in the same batch."""
    new = {answer.id for answer in answers if answer.kind is Addition.CREATED}
    return [
        Added(Addition.WITHHELD, answer.id) if answer.id in new and answer.kind is not Addition.CONFLICT else answer
        for answer in answers
    ]


def _id(item: _Item) -> UUID:
    return item.id if isinstance(item, NewRun) else item.job.id


def _owner(item: _Item) -> str:
    return item.owner if isinstance(item, NewRun) else item.job.owner


def _columns(runs: Sequence[NewRun]) -> list[Sequence[Any]]:
    """Runs as columns: what is each run's own, then what they share, once for all that are alike.

    Most batches are alike but for ids and payloads, and each value that is sent costs both sides as much as the next:
    a column that says nothing is empty.
    """
    shared: dict[tuple[Any, ...], int] = {}
    places = [shared.setdefault(_shared_fields(run), len(shared) + 1) for run in runs]
    instants = [None if isinstance(run.due, timedelta) else instant(run.due) for run in runs]
    return [
        [run.id for run in runs],
        places if len(shared) > 1 else (),
        instants if any(instants) else (),
        [run.task.payload for run in runs],
        *zip(*shared, strict=True),
    ]


def _topics(columns: Sequence[Sequence[Any]]) -> Sequence[str]:
    """Whom runs in these columns concern right away; those that name an instant are left to whoever added them."""
    shared = zip(columns[_DELAY], columns[_LANE], strict=True)
    return list(dict.fromkeys(lane_topic(lane) for delay, lane in shared if delay is not None and delay <= SOON))


def _shared_fields(run: NewRun) -> tuple[Any, ...]:
    task = run.task
    return (
        run.owner,
        run.project,
        run.name,
        run.spec,
        run.due if isinstance(run.due, timedelta) else None,
        task.handler,
        task.lane,
        task.priority,
        task.timeout,
        kept_retry(task),
        task.blob,
    )


def _job_fields(item: NewJob) -> tuple[Any, ...]:
    job = item.job
    return (
        job.id,
        job.owner,
        job.project,
        job.name,
        job.key,
        job.state,
        job.version,
        job.terms.to_json(),
        job.created_at,
        job.updated_at,
        instant(job.next_fire_at),
        instant(job.wake_at),
        *task_fields(job.task),
    )
