"""Handing waiting runs over."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import HELD, attempt_from, dump, micros
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.task import BACKSTOP
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
    worker = holder(transaction, by)
    offers = [_offer(transaction, lane, limit) for lane in lanes]
    chosen = _in_turn(offers)[:limit]
    attempts = hand_over(transaction, by, worker, chosen) if chosen else ()
    if len(chosen) == limit:
        return Claimed(attempts, more_at=0)
    # Not full: every offer held all that was due.
    return Claimed(attempts, more_at=_first(offer.next_wake for offer in offers))


def holder(transaction: Transaction, by: SessionId) -> str:
    """The name of a session that may take runs over, or SessionLost."""
    name: str | None = transaction.value(_SQL["holder"], by)
    if name is None:
        raise SessionLost(f"session {by} has ended")
    return name


def next_wakes(transaction: Transaction, lanes: Sequence[Lane]) -> Mapping[Lane, int]:
    """The moment when the next waiting run of each lane wakes, held ones apart."""
    wakes = ((lane, _first([transaction.value(_SQL["next_wake"], lane)])) for lane in lanes)
    return {lane: wake for lane, wake in wakes if wake is not None}


def hand_over(transaction: Transaction, by: SessionId, worker: str, chosen: Sequence[int]) -> Sequence[Attempt]:
    """Make these rows the session's own, under new fences."""
    batch = dump(chosen)
    transaction.execute(_SQL["count_waits"], batch, transaction.now)
    transaction.execute(_SQL["hand_over"], batch, by, transaction.now, _BACKSTOP, worker)
    return [attempt_from(row) for row in json.loads(transaction.value(_SQL["handed_over"], batch))]


@dataclass(slots=True)
class _Offer:
    """What a lane has to give: rows that are due, as many as are wanted or all; of all, when the next one wakes."""

    rows: list[int]
    next_wake: int | None = None


def _offer(transaction: Transaction, lane: Lane, limit: int) -> _Offer:
    due, next_wake = transaction.value(_SQL["due"], lane, transaction.now, limit)
    if due is None:
        return _Offer(_best(transaction, lane, limit))
    return _Offer([row for _, _, row in sorted(json.loads(due))], next_wake)


def _best(transaction: Transaction, lane: Lane, limit: int) -> list[int]:
    """Of more due rows than are wanted, those of the highest priorities that have waited longest."""
    rows: list[int] = []
    for priority, wake in levels(transaction, lane):
        if wake <= transaction.now and len(rows) < limit:
            found = transaction.value(_SQL["candidates"], lane, priority, transaction.now, limit - len(rows))
            rows += json.loads(found)
    return rows


class Level(NamedTuple):
    """A priority that waiting runs have, and when the first of them wakes."""

    priority: int
    wake: int


def levels(transaction: Transaction, lane: Lane) -> Sequence[Level]:
    """From the highest priority, by a few steps of an index for each."""
    return [Level(priority, wake) for priority, wake in json.loads(transaction.value(_SQL["levels"], lane))]


def _first(wakes: Iterable[int | None]) -> int | None:
    """The earliest that isn't held."""
    return min((wake for wake in wakes if wake is not None and wake < HELD), default=None)


def _in_turn(offers: Sequence[_Offer]) -> list[int]:
    """Rows by priority and wake time within a lane, lanes in turn."""
    if len(offers) == 1:
        return offers[0].rows
    return [row for round_ in zip_longest(*(offer.rows for offer in offers)) for row in round_ if row is not None]
