"""History by weeks: a table for each, made long before it is needed and dropped whole when all in it is old enough.

Nothing here makes readers or writers of history wait: tables are attached and detached under locks that both share.
"""

from datetime import datetime, timedelta

import asyncpg

from mainspring.adapters.postgres.engine import Connection, Engine, connect
from mainspring.adapters.postgres.failures import translated
from mainspring.adapters.postgres.statements import load
from mainspring.logs import get_logger

WEEKS_AHEAD = 8
PATIENCE = timedelta(seconds=2)
"""How long a week waits for readers that began before it was taken out; if they last longer, until the next time."""

_SQL = load("partitions")
_BLOCKED = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError)
_MILLISECOND = timedelta(milliseconds=1)

_log = get_logger(__name__)


async def prepare(engine: Engine) -> None:
    """Make sure that history can be written for weeks; any number of processes may do so at once."""
    if await weeks_ahead(engine) < WEEKS_AHEAD:
        await engine.execute(_SQL["prepare"])


async def weeks_ahead(engine: Engine) -> int:
    """For how many weeks after this one history has tables; -1 if it can't even be written today."""
    weeks: int = await engine.value(_SQL["weeks_ahead"])
    return weeks


async def drop_outdated(engine: Engine, before: datetime, patience: timedelta = PATIENCE) -> int:
    """Drop the oldest week that was over by *before*; return about how many runs it held, 0 if there was none.

    0 as well while somebody reads what is to be dropped: detaching waits for no longer than *patience*, goes on where
    it stopped when it is asked again, and what is half detached isn't seen by new statements any more.
    """
    if await engine.row(_SQL["outdated"], before) is None:
        return 0
    connection = await connect(engine.address)  # detaching can't be done in a transaction
    try:
        with translated(engine.address.shown):
            return await _drop_oldest(connection, before, patience)
    finally:
        await connection.close(timeout=5)


async def _drop_oldest(connection: Connection, before: datetime, patience: timedelta) -> int:
    if not await connection.fetchval(_SQL["turn"]):
        return 0
    week = await connection.fetchrow(_SQL["outdated"], before)  # again: another process may have been at it
    if week is None:
        return 0
    table, runs, begun = week
    await connection.execute("SELECT set_config('lock_timeout', $1, false)", str(patience // _MILLISECOND))
    try:
        if begun is not None:
            how = "FINALIZE" if begun else "CONCURRENTLY"
            await connection.execute(f'ALTER TABLE history DETACH PARTITION "{table}" {how}')
        await connection.execute(f'DROP TABLE "{table}"')
    except _BLOCKED:
        _log.warning("history.week_in_use", table=table)
        return 0
    _log.info("history.week_dropped", table=table, runs=runs)
    return int(runs)
