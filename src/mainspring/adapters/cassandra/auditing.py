"""Looking after what the indexes may have lost: some minutes after each wake time, the home of its run is read.

A run that waits without its entry is listed again; one that is held by a session that nobody knows any more is put
into that session's name, so that it is buried once more, with what it holds. Homes in which something should have
happened and hasn't are visited again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.index import of_waiting_run
from mainspring.adapters.cassandra.layout import slot_of
from mainspring.adapters.cassandra.members import MOST_SESSIONS
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.rows import ALL, Key, Put, Row, Span, only
from mainspring.adapters.cassandra.runs import Home
from mainspring.adapters.cassandra.tables import CLAIM_INTENT, DUE, REVISIT, RUN, SESSION_OF
from mainspring.adapters.cassandra.values import identity, number
from mainspring.domain.run import State
from mainspring.ports.sessions import Role

_VISITS = 16
"""Homes of one shard that one audit visits."""
_PAGE = 500
_LATER = 60
"""Minutes until a home is visited again in which something is overdue."""


async def audit(context: Context, shard: int) -> int:
    """Visit the homes of *shard* whose time has come, and return how many repairs were made."""
    now = context.now()
    visits = await context.rows.slice(REVISIT, (shard,), Span(last=(slot_of(now),)), limit=_VISITS)
    repairs = 0
    for home in dict.fromkeys((shard, number(visit, "slot")) for visit in visits):
        repairs += await _visit(context, home, now)
    for visit in visits:
        await context.rows.delete_range(REVISIT, (shard,), only((visit["at"], visit["slot"])))
    return repairs


async def _visit(context: Context, home: Home, now: int) -> int:
    repairs, overdue, span = 0, False, ALL
    while page := await context.rows.slice(RUN, home, span, limit=_PAGE):
        waiting = [row for row in page if state_of(row) is State.WAITING and row["wake_at"] is not None]
        running = [row for row in page if state_of(row) is State.RUNNING]
        repairs += await _list_again(context, waiting, now)
        repairs += await _name_again(context, running, now)
        overdue = overdue or bool(running) or any(number(row, "wake_at") <= now for row in waiting)
        span = Span(after=(page[-1]["id"],))
        if len(page) < _PAGE:
            break
    if overdue:
        await context.rows.put([_visit_later(home, now)])
    return repairs


async def _list_again(context: Context, waiting: Sequence[Row], now: int) -> int:
    """Write the entries that are missing; each row says where its entry should be."""
    missing = await _unlisted(context, waiting)
    await context.index([put for row in missing for put in of_waiting_run(_indexed_again(row, now))])
    return len(missing)


async def _unlisted(context: Context, waiting: Iterable[Row]) -> Sequence[Row]:
    minutes: defaultdict[Key, list[Row]] = defaultdict(list)
    for row in waiting:
        minutes[row["shard"], row["lane"], slot_of(number(row, "indexed_at"))].append(row)
    missing: list[Row] = []
    for partition, rows in minutes.items():
        keys = [(row["indexed_at"], row["id"], row["fence"]) for row in rows]
        found = {identity(entry, "id") for entry in await context.rows.get(DUE, partition, keys)}
        missing += [row for row in rows if row["id"] not in found]
    return missing


async def _name_again(context: Context, running: Sequence[Row], now: int) -> int:
    if not running:
        return 0
    known = await _known_sessions(context)
    orphans: defaultdict[int, list[UUID]] = defaultdict(list)
    for row in running:
        if row["session"] not in known:
            orphans[number(row, "session")].append(identity(row, "id"))
    for session, runs in orphans.items():
        packed = b"".join(run.bytes for run in runs)
        await context.rows.put([Put(table=CLAIM_INTENT, row={"session": session, "number": now, "runs": packed})])
        await context.rows.put([Put(table=SESSION_OF, row={"role": Role.WORKER, "id": session})])
    return sum(map(len, orphans.values()))


async def _known_sessions(context: Context) -> Collection[int]:
    entries = await context.rows.slice(SESSION_OF, (Role.WORKER,), limit=MOST_SESSIONS)
    return {number(entry, "id") for entry in entries}


def _indexed_again(row: Row, now: int) -> Row:
    """Not before its own entry was to be found: a ticket may be out."""
    return {**row, "indexed_at": max(number(row, "indexed_at"), now)}


def _visit_later(home: Home, now: int) -> Put:
    shard, slot = home
    return Put(table=REVISIT, row={"shard": shard, "at": slot_of(now) + _LATER, "slot": slot})
