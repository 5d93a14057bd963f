"""Handing waiting runs over: one round trip, whether there is something to do or not."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Final

from mainspring.adapters.postgres.engine import Engine, Purpose
from mainspring.adapters.postgres.rows import Row, handed_over_from
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.task import BACKSTOP
from mainspring.errors import SessionLost
from mainspring.ports.time import Clock
from mainspring.ports.views import WAIT_BUCKETS
from mainspring.ports.work import Claim

_SQL = load("work")
BUCKETS: Final = [bound + timedelta(microseconds=1) for bound in WAIT_BUCKETS]
"""The server counts a wait that equals a bound to the bucket above it."""
_NOTHING = timedelta(0)
_SOON = timedelta(milliseconds=10)

_DUE_AT, _WAKE_AT, _TIMEOUT, _CANCEL, _HANDLER, _PRIORITY, _LANE = 6, 7, 8, 9, 13, 14, 18


async def claim(engine: Engine, clock: Clock, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
    """Give the session the best waiting runs of its lanes, under new fences."""
    asked_at = clock.monotonic()
    *rows, last = await _rows(engine, by, lanes, limit)
    now, next_in, took_all, name = last[_DUE_AT], last[_TIMEOUT], last[_CANCEL], last[_HANDLER]
    if name is None:
        raise SessionLost(f"session {by} has ended")
    attempts = [handed_over_from(row, by, name, now, lanes[0]) for row in _in_turn(rows, lanes)]
    if took_all:
        return Claim(attempts=attempts, next_in=_left(next_in, clock.monotonic() - asked_at))
    # There was enough for a full claim. If nothing came of it, others were quicker, and may hold on for a moment.
    return Claim(attempts=attempts, next_in=_NOTHING if attempts else _SOON)


async def next_wakes(engine: Engine, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
    """The wait until the next waiting run of each lane wakes, held ones apart."""
    rows = await engine.fetch(_SQL["next_wakes"], lanes, purpose=Purpose.WATCH)
    return {Lane(lane): max(wait, _NOTHING) for lane, wait in rows}


def _left(wait: timedelta | None, elapsed: float) -> timedelta | None:
    """What is left of a wait that the server counts from the moment when the claim came in.

    By a claim that is sent once this is over, the server's clock shows the moment: what it takes to get there was
    counted once already. Counted from the answer, every wait would begin after a commit, which takes its time.
    """
    return None if wait is None else max(wait - timedelta(seconds=elapsed), _NOTHING)


async def _rows(engine: Engine, by: SessionId, lanes: Sequence[Lane], limit: int) -> Sequence[Row]:
    """Runs in no order, and a last row about all of them."""
    terms = (by, limit, BACKSTOP, BUCKETS)
    if len(lanes) == 1:
        return await engine.fetch(_SQL["claim"], lanes[0], *terms, purpose=Purpose.CLAIM)
    return await engine.fetch(_SQL["claim_in_turn"], lanes, *terms, purpose=Purpose.CLAIM)


def _in_turn(rows: list[Row], lanes: Sequence[Lane]) -> Iterable[Row]:
    """Rows by priority and wake time within a lane, lanes in turn."""
    rows.sort(key=_rank)
    if len(lanes) == 1:
        return rows
    by_lane = {lane: [row for row in rows if row[_LANE] == lane] for lane in lanes}
    return [row for round_ in zip_longest(*by_lane.values()) for row in round_ if row is not None]


def _rank(row: Row) -> tuple[int, datetime]:
    return -row[_PRIORITY], row[_WAKE_AT] or row[_DUE_AT]
