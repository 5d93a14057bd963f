"""Handing waiting runs over: one round trip, whether there is something to do or not."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Final

from mainspring.adapters.postgres.engine import Engine, Purpose
from mainspring.adapters.postgres.rows import Row, attempt_from
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.task import BACKSTOP
from mainspring.errors import SessionLost
from mainspring.ports.views import WAIT_BUCKETS
from mainspring.ports.work import Claim

_SQL = load("work")
_BUCKETS: Final = [bound + timedelta(microseconds=1) for bound in WAIT_BUCKETS]
"""The server counts a wait that equals a bound to the bucket above it."""
_NOTHING = timedelta(0)
_SOON = timedelta(milliseconds=10)

_ID, _WORKER, _LANE, _PRIORITY, _WAKE_AT, _NEXT_IN = 0, 13, 15, 16, 21, 23


async def claim(engine: Engine, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
    """Give the session the best waiting runs of its lanes, under new fences."""
    rows = await _rows(engine, by, lanes, limit)
    last = rows.pop() if rows and rows[-1][_ID] is None else None
    if last is not None and last[_WORKER] is None:
        raise SessionLost(f"session {by} has ended")
    attempts = [attempt_from(row) for row in _in_turn(rows, lanes)]
    if last is not None:
        return Claim(attempts=attempts, next_in=None if last[_NEXT_IN] is None else max(last[_NEXT_IN], _NOTHING))
    # There was enough for a full claim. If nothing came of it, others were quicker, and may hold on for a moment.
    return Claim(attempts=attempts, next_in=_NOTHING if attempts else _SOON)


async def next_wakes(engine: Engine, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
    """The wait until the next waiting run of each lane wakes, held ones apart."""
    rows = await engine.fetch(_SQL["next_wakes"], lanes, purpose=Purpose.CLAIM)
    return {Lane(lane): max(wait, _NOTHING) for lane, wait in rows}


async def _rows(engine: Engine, by: SessionId, lanes: Sequence[Lane], limit: int) -> list[Row]:
    """Runs in no order, and a last row without an id unless there was enough for a full claim."""
    terms = (by, limit, BACKSTOP, _BUCKETS)
    if len(lanes) == 1:
        return list(await engine.fetch(_SQL["claim"], lanes[0], *terms, purpose=Purpose.CLAIM))
    return list(await engine.fetch(_SQL["claim_in_turn"], lanes, *terms, purpose=Purpose.CLAIM))


def _in_turn(rows: list[Row], lanes: Sequence[Lane]) -> Iterable[Row]:
    """Rows by priority and wake time within a lane, lanes in turn."""
    rows.sort(key=_rank)
    if len(lanes) == 1:
        return rows
    by_lane = {lane: [row for row in rows if row[_LANE] == lane] for lane in lanes}
    return [row for round_ in zip_longest(*by_lane.values()) for row in round_ if row is not None]


def _rank(row: Row) -> tuple[int, datetime]:
    return -row[_PRIORITY], row[_WAKE_AT]
