"""The truth about sessions: alive until one compare-and-set ends them for good."""

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.members import LISTED
from mainspring.adapters.cassandra.rows import Change, Put, Row, UnknownOutcome
from mainspring.adapters.cassandra.tables import SESSION, SESSION_OF
from mainspring.domain.ids import SessionId

ALIVE, ENDED = 0, 1


async def session_row(context: Context, session: SessionId, *, settled: bool = False) -> Row | None:
    """The row of a session that hasn't been forgotten."""
    rows = await context.rows.get(SESSION, (session,), settled=settled)
    return rows[0] if rows else None


async def living(context: Context, session: SessionId) -> Row | None:
    """The row of a session that hasn't ended. One whose time is up lives until it is buried."""
    row = await session_row(context, session)
    return row if row is not None and row["state"] == ALIVE else None


async def change_session(context: Context, row: Row, values: Row, *, expected: Row) -> bool:
    """Change a session that is as *expected*, and its entry with it; False if it isn't."""
    session = row["id"]
    change = Change(key=(), values=values, expected=expected)
    try:
        applied = await context.rows.cas_batch(SESSION, (session,), [change]) is None
    except UnknownOutcome:
        found = await context.rows.get(SESSION, (session,), settled=True)
        applied = any(all(each[name] == value for name, value in values.items()) for each in found)
        if not applied and any(all(each[name] == value for name, value in expected.items()) for each in found):
            return await change_session(context, row, values, expected=expected)
    if applied:
        await context.rows.put([entry_of({**row, **values})])
    return applied


def entry_of(row: Row) -> Put:
    """How a session is listed."""
    return Put(table=SESSION_OF, row={"role": row["role"], "id": row["id"], **{name: row[name] for name in LISTED}})
