"""Handing waiting runs over."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import HELD, attempt_from, dump, micros
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.task import BACKSTOP, HIGHEST_PRIORITY
from mainspring.errors import SessionLost

_SQL = load("work")
_BACKSTOP = micros(BACKSTOP)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Runs handed over, and the moment when there may be more: None if nothing waits."""

    attempts: Sequence[Attempt]
    more_at: int | None


def claim(transaction: Transaction, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claimed:
    """Give the session the best waiting runs of its lanes, under new fences."""
    worker = transaction.value(_SQL["holder"], by)
    if worker is None:
        raise SessionLost(f"session {by} has ended")
    offers = [_candidates(transaction, lane, limit) for lane in lanes]
    chosen = _in_turn(offers)[:limit]
    attempts = _hand_over(transaction, by, worker, chosen) if chosen else ()
    if len(chosen) == limit:
        return Claimed(attempts, more_at=0)
    # Not full: every offer went through all its priorities, and took all that was due.
    wakes = (_first_wake(transaction, lane, offer.levels) for lane, offer in zip(lanes, offers, strict=True))
    return Claimed(attempts, more_at=min((wake for wake in wakes if wake is not None), default=None))


def next_wakes(transaction: Transaction, lanes: Sequence[Lane]) -> Mapping[Lane, int]:
    """The moment when the next waiting run of each lane wakes, held ones apart."""
    wakes = ((lane, _first_wake(transaction, lane, priorities(transaction, lane))) for lane in lanes)
    return {lane: wake for lane, wake in wakes if wake is not None}


@dataclass(slots=True)
class _Offer:
    """What a lane has to give: rows that are due, and the priorities that were looked at."""

    rows: list[int]
    levels: list[int]


def _first_wake(transaction: Transaction, lane: Lane, levels: Iterable[int]) -> int | None:
    wakes = (transaction.value(_SQL["first_wake"], lane, level) for level in levels)
    wake: int = min((wake for wake in wakes if wake is not None), default=HELD)
    return wake if wake < HELD else None


def _hand_over(transaction: Transaction, by: SessionId, worker: str, chosen: Sequence[int]) -> Sequence[Attempt]:
    batch = dump(chosen)
    transaction.execute(_SQL["count_waits"], batch, transaction.now)
    transaction.execute(_SQL["sum_waits"], batch, transaction.now)
    transaction.execute(_SQL["hand_over"], batch, by, transaction.now, _BACKSTOP, worker)
    return [attempt_from(row) for row in json.loads(transaction.value(_SQL["handed_over"], batch))]


def _in_turn(offers: Sequence[_Offer]) -> list[int]:
    """Rows by priority and wake time within a lane, lanes in turn."""
    if len(offers) == 1:
        return offers[0].rows
    return [row for round_ in zip_longest(*(offer.rows for offer in offers)) for row in round_ if row is not None]


def _candidates(transaction: Transaction, lane: Lane, limit: int) -> _Offer:
    offer = _Offer(rows=[], levels=[])
    for level in priorities(transaction, lane):
        offer.levels.append(level)
        wanted = limit - len(offer.rows)
        offer.rows += json.loads(transaction.value(_SQL["candidates"], lane, level, transaction.now, wanted))
        if len(offer.rows) == limit:
            break
    return offer


def priorities(transaction: Transaction, lane: Lane) -> Iterator[int]:
    """The priorities that waiting runs of a lane have, from the highest: few, and each is one step of an index.

    One recursive statement would do the same, but setting up its temporary tables takes ten times as long.
    """
    level = transaction.value(_SQL["highest_priority"], lane, HIGHEST_PRIORITY + 1)
    while level is not None:
        yield level
        level = transaction.value(_SQL["highest_priority"], lane, level)
