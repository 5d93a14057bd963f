"""Counting what could start now."""

from collections.abc import Sequence

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import EVERYTHING, slot_of, span_of
from mainspring.adapters.cassandra.rows import Row, Span
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.tables import DUE, DUE_SLOT, HANDLER
from mainspring.adapters.cassandra.totals import read_totals
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import Lane
from mainspring.domain.run import State
from mainspring.domain.suspects import home_lane, waiting_lane
from mainspring.ports.tickets import GRACE

MOST_COUNTED = 1_000
"""More isn't counted: each has to be looked at where it lives, for an index may list what was taken long ago."""

_CHUNK = 100


async def count_due(context: Context, owner: str | None) -> int:
    """How many runs, of one owner or of all, could start now; MOST_COUNTED if they are more.

    Those among them whose tickets are out, which claims find later.
    """
    lanes = await _lanes(context)
    return await _count(context, [*lanes, *(waiting_lane(lane, suspect=True) for lane in lanes)], owner)


async def count_suspects(context: Context) -> int:
    """How many suspects could start now; MOST_COUNTED if they are more."""
    return await _count(context, [waiting_lane(lane, suspect=True) for lane in await _lanes(context)], None)


async def _count(context: Context, lanes: Sequence[Lane], owner: str | None) -> int:
    now = context.now()
    last = now + span_of(GRACE)
    due: set[object] = set()
    for lane in lanes:
        span = Span(last=(slot_of(last),))
        while places := await context.rows.slice(DUE_SLOT, (lane,), span, limit=_CHUNK):
            for place in places:
                due |= await _startable(context, await _entries(context, place, last, owner), now)
                if len(due) >= MOST_COUNTED:
                    return MOST_COUNTED
            span = Span(after=(places[-1]["slot"], places[-1]["shard"]), last=(slot_of(last),))
    return len(due)


async def _lanes(context: Context) -> Sequence[Lane]:
    """Every lane that anything was ever added to, or that a worker serves."""
    served = await context.rows.slice(HANDLER, (EVERYTHING,), limit=MOST_COUNTED)
    used = {home_lane(lane) for _, lane, _ in await read_totals(context.rows)}
    return sorted(used | {Lane(text(row, "lane")) for row in served})


async def _entries(context: Context, place: Row, last: int, owner: str | None) -> Sequence[Row]:
    partition = (place["shard"], place["lane"], place["slot"])
    entries = await context.rows.slice(DUE, partition, Span(last=(last,)), limit=MOST_COUNTED)
    return [entry for entry in entries if owner in (None, entry["owner"])]


async def _startable(context: Context, entries: Sequence[Row], now: int) -> set[object]:
    """Those that wait under the fence that the entry names."""
    rows = await read(context, [identity(entry, "id") for entry in entries])
    fences = {(run_id, row["fence"]) for run_id, row in rows.items() if _waits(row, now)}
    return {entry["id"] for entry in entries if (entry["id"], entry["fence"]) in fences}


def _waits(row: Row, now: int) -> bool:
    return row["state"] == State.WAITING and row["wake_at"] is not None and number(row, "wake_at") <= now
