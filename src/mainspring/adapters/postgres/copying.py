"""Many new one-shot jobs by COPY, in the server's own binary format: half the work of an INSERT, on both sides.

COPY takes no conflict: it is for runs that are all new, and whoever finds that one isn't goes the other way.
"""

import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from uuid import UUID

import asyncpg

from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.engine import Connection
from mainspring.adapters.postgres.rows import instant, kept_retry
from mainspring.adapters.postgres.statements import load
from mainspring.domain.run import NewRun, Origin

_SQL = load("work")

_OWN = ("id", "job_id", "due_at", "wake_at", "payload")
_SHARED = ("kind", "owner", "project", "name", "lane", "handler", "priority", "timeout", "spec", "retry", "blob")
_FIELDS = len(_OWN) + len(_SHARED)
_ROW = struct.Struct("!h i16s i16s iq iq i")
_SHORT, _INTERVAL = struct.Struct("!ih"), struct.Struct("!iqii")
_LENGTH = struct.Struct("!i")
_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_Value = int | str | bytes | timedelta | None
_Group = tuple[str, str, Origin]
"""Owner, lane and kind: what is counted apart."""


class NotNew(Exception):
    """One of the runs is stored already; nothing may be kept of what was copied."""


async def copy(connection: Connection, runs: Sequence[NewRun]) -> datetime:
    """Store *runs* within a transaction and return its now; NotNew unless each of them is."""
    now: datetime = await connection.fetchval("SELECT now()")
    # In the order of ids, so that nobody waits in a circle.
    ordered = sorted(runs, key=attrgetter("id.int"))
    rows, groups = _encoded(ordered, now)
    try:
        await connection.copy_to_table("queue", source=_once(rows), columns=(*_OWN, *_SHARED), format="binary")
    except asyncpg.UniqueViolationError as error:
        raise NotNew from error
    # Looked at afterwards: nothing of the same id can come into the queue any more, and what left it is there.
    for (owner, lane, kind), ids in groups.items():
        if await connection.fetchval(_SQL["copied"], ids, earliest_end(ids[:1]), owner, lane, kind):
            raise NotNew
    return now


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _encoded(runs: Iterable[NewRun], now: datetime) -> tuple[bytes, dict[_Group, list[UUID]]]:
    """The runs as COPY takes them, and their ids by what is counted apart.

    Most batches are alike but for ids and payloads: what is as it was for the run before isn't worked out again.
    """
    groups: dict[_Group, list[UUID]] = {}
    parts = [_HEAD]
    due: datetime | timedelta | None = None
    moment, kind = 0, Origin.IMMEDIATE
    alike: tuple[object, ...] = ()
    shared, ids = b"", list[UUID]()
    for run in runs:
        task = run.task
        if run.due != due:
            due = run.due
            at = now + due if isinstance(due, timedelta) else due
            moment, kind = _moment(at), Origin.DELAYED if at > now else Origin.IMMEDIATE
        before, alike = alike, (kind, run.owner, run.project, run.name, run.spec, *_terms(task))
        if alike != before:
            shared = b"".join(map(_field, _shared_fields(run, kind)))
            ids = groups.setdefault((run.owner, task.lane, kind), [])
        ids.append(run.id)
        identity, payload = run.id.bytes, task.payload
        parts += (_ROW.pack(_FIELDS, 16, identity, 16, identity, 8, moment, 8, moment, len(payload)), payload, shared)
    parts.append(_END)
    return b"".join(parts), groups


_terms = attrgetter("lane", "handler", "priority", "timeout", "retry", "trace", "blob")
"""All of a task but its payload."""


def _shared_fields(run: NewRun, kind: Origin) -> tuple[_Value, ...]:
    task = run.task
    return (
        kind,
        run.owner,
        run.project,
        run.name,
        task.lane,
        task.handler,
        task.priority,
        task.timeout,
        run.spec,
        kept_retry(task),
        task.blob,
    )


def _field(value: _Value) -> bytes:
    match value:
        case None:
            return _NULL
        case int():
            return _SHORT.pack(2, value)
        case timedelta():
            return _INTERVAL.pack(16, (value - timedelta(days=value.days)) // _MICROSECOND, value.days, 0)
        case _:
            data = value.encode() if isinstance(value, str) else value
            return _LENGTH.pack(len(data)) + data


def _moment(at: datetime) -> int:
    return ((instant(at) or at) - _EPOCH) // _MICROSECOND
