"""Keyset pages: newest first by id, over live and ended rows together, in one transaction.

Keys are read first, a chunk of rows at a time; the server says which of them match, and looks at no more than
MAX_EXAMINED of them: a page may then be short, with `next` set. What is shown is read by those keys.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.engine import Connection
from mainspring.adapters.postgres.records import records_from
from mainspring.adapters.postgres.rows import Row, run_from, text
from mainspring.adapters.postgres.statements import load
from mainspring.domain.run import Run
from mainspring.ports.views import (
    MAX_EXAMINED,
    Cursor,
    DeadFilter,
    DeadLetter,
    JobFilter,
    JobRecord,
    Page,
    RunFilter,
)

_SQL = load("views")
_NEWEST = UUID(int=(1 << 128) - 1)
_GROWTH = 4

Look = Callable[[UUID, int], Awaitable[Sequence[Row]]]
"""Rows before an id, at most so many, newest first: id, when it ended, whether it matches, and whatever else."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """The rows of a page, and where the next one begins."""

    rows: Sequence[Row]
    next: UUID | None


async def runs(connection: Connection, where: RunFilter, page: Cursor) -> Page[Run]:
    """Runs that match, newest first."""
    values: list[Any] = [text(where.owner), _numbers(where.states), text(where.worker), text(where.handler)]
    statement = "run_keys"
    if where.job_id is not None:
        statement = "run_keys_of_job"
        values += [where.job_id, earliest_end([where.job_id])]

    async def look(before: UUID, most: int) -> Sequence[Row]:
        return await connection.fetch(_SQL[statement], before, most, *values)

    keys = await _keys(look, page)
    found = await _runs(connection, keys.rows)
    return Page(items=[found[row[0]] for row in keys.rows], next=keys.next)


async def jobs(connection: Connection, where: JobFilter, page: Cursor) -> Page[JobRecord]:
    """Jobs that match, newest first."""

    async def look(before: UUID, most: int) -> Sequence[Row]:
        return await _job_keys(connection, where, before, most)

    if where.key is not None and where.owner is not None:
        identity = await connection.fetchval(_SQL["keyed"], text(where.owner), text(where.key))
        keys = _Keys(await _only(look, identity, page), None)
    else:
        keys = await _keys(look, page)
    asked = [row[0] for row in keys.rows]
    found = records_from(await connection.fetch(_SQL["records"], asked, [row[1] for row in keys.rows]))
    return Page(items=[found[identity] for identity in asked], next=keys.next)


async def dead_letters(connection: Connection, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
    """Dead letters that match, newest first."""

    async def look(before: UUID, most: int) -> Sequence[Row]:
        values = (text(where.owner), where.job_id, text(where.handler), text(where.fingerprint))
        return await connection.fetch(_SQL["dead_keys"], before, most, *values)

    keys = await _keys(look, page)
    found = await _runs(connection, keys.rows)
    letters = [
        DeadLetter(run=found[run_id], fingerprint=fingerprint, died_at=died_at)
        for run_id, died_at, _, fingerprint in keys.rows
        if run_id in found
    ]
    return Page(items=letters, next=keys.next)


async def _keys(look: Look, page: Cursor) -> _Keys:
    """The first rows that match. Most pages need one look: it asks for one row more than the page has room for."""
    found: list[Row] = []
    last, most, examined = page.before or _NEWEST, min(page.limit + 1, MAX_EXAMINED), 0
    while True:
        rows = await look(last, most)
        for row in rows:
            if len(found) == page.limit:
                return _Keys(found, last)
            last = row[0]
            if row[2]:
                found.append(row)
        examined += len(rows)
        if len(rows) < most:
            return _Keys(found, None)
        if examined >= MAX_EXAMINED:
            return _Keys(found, last)
        most = 1 if len(found) == page.limit else min(most * _GROWTH, MAX_EXAMINED - examined)


async def _only(look: Look, identity: UUID | None, page: Cursor) -> Sequence[Row]:
    """The row with that id, if it matches and belongs to the page."""
    if identity is None or (page.before is not None and identity >= page.before):
        return []
    rows = await look(UUID(int=identity.int + 1), 1)
    return [row for row in rows if row[0] == identity and row[2]][: page.limit]


async def _job_keys(connection: Connection, where: JobFilter, before: UUID, most: int) -> Sequence[Row]:
    searched = None if where.text is None else where.text.casefold()
    rows = await connection.fetch(
        _SQL["job_keys"],
        before,
        most,
        text(where.owner),
        text(where.project),
        text(where.name),
        text(where.handler),
        text(where.key),
        _numbers(where.states),
        _numbers(where.run_states),
        searched is not None,
        where.standing,
    )
    if searched is None:
        return rows
    # Here, because whether the server can fold the case of letters beyond ASCII depends on how it was set up.
    return [(identity, ended, matches and _contains(texts, searched)) for identity, ended, matches, texts in rows]


async def _runs(connection: Connection, keys: Sequence[Row]) -> Mapping[UUID, Run]:
    live = [row[0] for row in keys if row[1] is None]
    ended: list[tuple[UUID, datetime]] = [(row[0], row[1]) for row in keys if row[1] is not None]
    rows = await connection.fetch(_SQL["runs"], live, [key for key, _ in ended], [at for _, at in ended])
    return {row[0]: run_from(row) for row in rows}


def _numbers(states: Collection[int] | None) -> list[int] | None:
    return None if states is None else [int(state) for state in states]


def _contains(texts: Sequence[str], searched: str) -> bool:
    return any(searched in each.casefold() for each in texts)
