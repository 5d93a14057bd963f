"""Runs at home: reading them, storing new ones, and deciding changes of them."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from mainspring.adapters.cassandra.blobs import use_of
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.index import of_new_run, of_waiting_run
from mainspring.adapters.cassandra.layout import home_of
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.rows import MOST_BYTES, MOST_CHANGES, Change, Key, Put, Row, UnknownOutcome, Value
from mainspring.adapters.cassandra.tables import RUN
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.run import State

Home = tuple[int, int]
_MOST_KEYS = 100
"""Rows that are asked for at a time."""
_CELL = 16
"""What a value takes at least."""
_LONG = bytes, str


async def read(context: Context, ids: Iterable[UUID], *, settled: bool = False) -> Mapping[UUID, Row]:
    """The rows of those runs that exist."""
    pieces = [
        (home, keys[start : start + _MOST_KEYS])
        for home, keys in _by_home(ids).items()
        for start in range(0, len(keys), _MOST_KEYS)
    ]
    found = await asyncio.gather(*(context.rows.get(RUN, home, keys, settled=settled) for home, keys in pieces))
    return {identity(row, "id"): row for rows in found for row in rows}


async def read_at(context: Context, home: Home, ids: Collection[UUID]) -> Sequence[Row]:
    """The rows of those runs that exist, all of which are at *home*."""
    keys: Sequence[Key] = [(run_id,) for run_id in ids]
    found = await asyncio.gather(
        *(context.rows.get(RUN, home, keys[start : start + _MOST_KEYS]) for start in range(0, len(keys), _MOST_KEYS))
    )
    return [row for rows in found for row in rows]


async def insert(context: Context, rows: Sequence[Row]) -> None:
    """Store runs that wait, or were skipped, as they were in the beginning; repeating it changes nothing.

    The entries of indexes come first: whoever dies in between leaves entries too many, and nobody was told of a run.
    """
    now = context.now()
    complete = [indexed(row, now) if state_of(row) is State.WAITING else row for row in rows]
    entries: list[Put] = []
    for row in complete:
        entries += of_new_run(row)
        if row["blob"] is not None:
            entries.append(use_of(text(row, "blob"), identity(row, "id"), now))
        if state_of(row) is State.WAITING:
            entries += of_waiting_run(row)
    await context.index(entries)
    await context.rows.put([Put(table=RUN, row=row, original=True) for row in complete])


def indexed(row: Row, now: int) -> Row:
    """*row* with when its entry is to be found: never behind the cursor of somebody who reads at *now*."""
    return {**row, "indexed_at": max(number(row, "wake_at"), now)}


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of some changes to runs of one home."""

    applied: Collection[UUID]
    found: Mapping[UUID, Row]
    """The rows as they stood against the others, with at least what was compared."""


async def decide(context: Context, home: Home, changes: Sequence[Change]) -> Decision:
    """Apply *changes* together or not at all. No answer is never taken for one: a settled read ends the doubt."""
    try:
        stood = await context.rows.cas_batch(RUN, home, changes)
    except UnknownOutcome:
        keys = [change.key for change in changes]
        found = {identity(row, "id"): row for row in await context.rows.get(RUN, home, keys, settled=True)}
        return Decision(
            [changed_run(change) for change in changes if _evident(change, found.get(changed_run(change)))], found
        )
    if stood is None:
        return Decision([changed_run(change) for change in changes], {})
    return Decision([], {identity(row, "id"): row for row in stood})


def batches(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """*changes* in batches that servers take."""
    batch: list[Change] = []
    size = 0
    for change in changes:
        weight = _weight(change.values.values())
        if batch and (len(batch) == MOST_CHANGES or size + weight > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(change)
        size += weight
    if batch:
        yield batch


def _by_home(ids: Iterable[UUID]) -> Mapping[Home, Sequence[Key]]:
    homes: defaultdict[Home, list[Key]] = defaultdict(list)
    for run_id in dict.fromkeys(ids):
        homes[home_of(run_id)].append((run_id,))
    return homes


def changed_run(change: Change) -> UUID:
    """Whose row it changes."""
    return cast("UUID", change.key[0])


def _evident(change: Change, row: Row | None) -> bool:
    """Whether *row* shows the change: by what it says now, or because this very hand-over was settled once."""
    if row is None:
        return False
    settled = change.values.get("settled")
    return all(row[name] == value for name, value in change.values.items()) or (
        settled is not None and row["settled"] == settled
    )


def _weight(values: Iterable[Value]) -> int:
    return sum([_CELL + len(value) if isinstance(value, _LONG) else _CELL for value in values])
