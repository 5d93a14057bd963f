"""Handing waiting runs over."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import zip_longest

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import HELD, attempt_from, dump, duration, micros
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.task import BACKSTOP, HIGHEST_PRIORITY
from mainspring.errors import SessionLost
from mainspring.ports.work import Claim

_SQL = load("work")
_BACKSTOP = micros(BACKSTOP)


def claim(transaction: Transaction, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
    """Give the session the best waiting runs of its lanes, under new fences."""
    worker = transaction.value(_SQL["holder"], by)
    if worker is None:
        raise SessionLost(f"session {by} has ended")
    chosen = _choose(transaction, lanes, limit)
    attempts = _hand_over(transaction, by, worker, chosen) if chosen else ()
    if len(chosen) == limit:
        return Claim(attempts=attempts, next_in=timedelta(0))
    return Claim(attempts=attempts, next_in=min(next_wake(transaction, lanes).values(), default=None))


def next_wake(transaction: Transaction, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
    """How long until the next waiting run of each lane wakes, held ones apart."""
    waits = {}
    for lane in lanes:
        wakes = (transaction.value(_SQL["first_wake"], lane, level) for level in _priorities(transaction, lane))
        wake = min(wakes, default=HELD)
        if wake < HELD:
            waits[lane] = duration(max(wake - transaction.now, 0))
    return waits


def _hand_over(transaction: Transaction, by: SessionId, worker: str, chosen: Sequence[int]) -> Sequence[Attempt]:
    batch = dump(chosen)
    transaction.execute(_SQL["count_waits"], batch, transaction.now)
    transaction.execute(_SQL["hand_over"], batch, by, transaction.now, _BACKSTOP, worker)
    return [attempt_from(row) for row in json.loads(transaction.value(_SQL["handed_over"], batch))]


def _choose(transaction: Transaction, lanes: Sequence[Lane], limit: int) -> list[int]:
    """The rows to take: by priority and wake time within a lane, lanes in turn."""
    offers = [_candidates(transaction, lane, limit) for lane in lanes]
    if len(offers) == 1:
        return offers[0]
    in_turn = [seq for round_ in zip_longest(*offers) for seq in round_ if seq is not None]
    return in_turn[:limit]


def _candidates(transaction: Transaction, lane: Lane, limit: int) -> list[int]:
    found: list[int] = []
    for level in _priorities(transaction, lane):
        found += json.loads(transaction.value(_SQL["candidates"], lane, level, transaction.now, limit - len(found)))
        if len(found) == limit:
            break
    return found


def _priorities(transaction: Transaction, lane: Lane) -> Iterator[int]:
    """The priorities that waiting runs of a lane have, from the highest: few, and each is one step of an index.

    One recursive statement would do the same, but setting up its temporary tables takes ten times as long.
    """
    level = transaction.value(_SQL["highest_priority"], lane, HIGHEST_PRIORITY + 1)
    while level is not None:
        yield level
        level = transaction.value(_SQL["highest_priority"], lane, level)
