"""What is in workers' hands, found by asking every worker's session."""

from collections.abc import Sequence

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.intents import intended
from mainspring.adapters.cassandra.members import MOST_SESSIONS
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.tables import SESSION_OF
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import SessionId
from mainspring.domain.run import State
from mainspring.ports.sessions import Role


async def running_rows(context: Context, most: int, *, workers: int) -> Sequence[Row] | None:
    """All runs in workers' hands, by id; None if they may be more than *most*, or more than *workers* had to be asked.

    Costs a read for each worker, and one for each home of what they hold. Those that have ended are asked, too: they
    are listed for as long as nobody has taken their runs from them.
    """
    sessions = await context.rows.slice(SESSION_OF, (Role.WORKER.value,), limit=MOST_SESSIONS)
    if len(sessions) > workers:
        return None
    claims = await abreast(lambda row: intended(context, SessionId(number(row, "id"))), sessions)
    held_by = {run_id: row["id"] for row, runs in zip(sessions, claims, strict=True) for run_id in runs}
    if len(held_by) > most:
        return None
    found = await read(context, held_by)
    return [found[run_id] for run_id in sorted(found) if _runs(found[run_id])]


def _runs(row: Row) -> bool:
    return row["state"] == State.RUNNING and row["session"] is not None
