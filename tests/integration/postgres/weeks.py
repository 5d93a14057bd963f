"""Weeks of history that were over long ago, with runs in them."""

from datetime import date, datetime, timedelta

from mainspring.adapters.postgres.engine import Engine

WEEK = timedelta(weeks=1)

_PARTITIONS = """
    SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'history'::regclass ORDER BY c.relname
"""
_ENDED = """
    INSERT INTO history (id, job_id, due_at, created_at, finished_at, timeout, fence, version, attempt, failures,
                         losses, state, kind, priority, owner, project, name, lane, handler, payload, log)
    SELECT id, id, at, at, at, interval '1 minute', 1, 1, 1, 0, 0, 2, 0, 0, 'o', 'p', '', 'default', 'h', '', ''
    FROM (SELECT gen_random_uuid() AS id, $1::timestamptz AS at FROM generate_series(1, $2)) AS run
"""


async def monday(engine: Engine, weeks_ago: int) -> datetime:
    """When the week began in UTC."""
    began: datetime = await engine.value("SELECT date_trunc('week', now(), 'UTC') - $1 * interval '7 days'", weeks_ago)
    return began


def table_of(week: date) -> str:
    """The table of the week that began on a Monday."""
    return f"history_{week:%Y%m%d}"


async def tables(engine: Engine) -> dict[str, str]:
    """The tables that history consists of, each with its bounds."""
    return dict(map(tuple, await engine.fetch(_PARTITIONS)))


async def a_week(engine: Engine, weeks_ago: int, *, runs: int = 10) -> str:
    """A week of history with runs that ended on its first day; the name of its table."""
    began = await monday(engine, weeks_ago)
    table = table_of(began)
    await engine.execute(
        f"CREATE TABLE {table} PARTITION OF history FOR VALUES FROM ('{began}') TO ('{began + WEEK}')",
    )
    await runs_that_ended(engine, began, runs)
    await engine.execute(f"ANALYZE {table}")
    return table


async def runs_that_ended(engine: Engine, at: datetime, count: int = 1) -> None:
    """So many runs that ended at the same instant."""
    await engine.execute(_ENDED, at, count)


async def kept(engine: Engine) -> int:
    """How many ended runs history shows."""
    count: int = await engine.value("SELECT count(*) FROM history")
    return count
