"""Sessions as the index lists them: good for display and for sharing work, never for deciding that one has ended."""

import json
from collections.abc import Sequence
from datetime import timedelta

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.tables import SESSION_OF
from mainspring.adapters.cassandra.values import number, text
from mainspring.domain.ids import Lane, SessionId
from mainspring.ports.sessions import Member, Role

MOST_SESSIONS = 10_000
LISTED = (
    *("name", "host", "pid", "capacity", "lanes", "opened_at"),
    *("beat_at", "expires_at", "executing", "skew", "draining", "drained", "trouble"),
)
"""What the index copies from a session."""


async def listed_members(context: Context, role: Role) -> Sequence[Member]:
    """The sessions whose time wasn't up when they were listed last, by name, then by age."""
    now = context.now()
    found = await context.rows.slice(SESSION_OF, (role,), limit=MOST_SESSIONS)
    members = [_member(row) for row in found if row["name"] is not None and number(row, "expires_at") > now]
    return sorted(members, key=lambda member: (member.name, member.opened_at, member.id))


def _member(row: Row) -> Member:
    return Member(
        id=SessionId(number(row, "id")),
        role=Role(text(row, "role")),
        name=text(row, "name"),
        host=text(row, "host"),
        pid=number(row, "pid"),
        capacity=number(row, "capacity"),
        executing=number(row, "executing"),
        lanes=[Lane(lane) for lane in json.loads(text(row, "lanes"))],
        opened_at=instant(number(row, "opened_at")),
        beat_at=instant(number(row, "beat_at")),
        skew=timedelta(microseconds=number(row, "skew")),
        draining=bool(row["draining"]),
        drained=bool(row["drained"]),
        trouble=str(row["trouble"] or "") or None,
    )
