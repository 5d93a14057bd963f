"""History by weeks: made ahead of time, dropped whole, and neither in anybody's way."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from mainspring.adapters.postgres import partitions
from mainspring.adapters.postgres.engine import Engine, connect
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.upkeep import PostgresUpkeep
from tests.integration.postgres.stores import engines
from tests.integration.postgres.weeks import WEEK, a_week, kept, monday, runs_that_ended, table_of, tables

RETENTION = timedelta(weeks=12)
A_LOT = 1000


@pytest.fixture
def upkeep(engine: Engine) -> PostgresUpkeep:
    return PostgresUpkeep(engine)


@pytest.fixture
async def other(engine: Engine) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Somebody else's connection, who waits for nobody."""
    connection = await connect(engine.address)
    await connection.execute("SET lock_timeout = '1ms'")
    yield connection
    await connection.close()


async def prune_all(upkeep: PostgresUpkeep, older_than: timedelta = RETENTION) -> int:
    removed = 0
    while step := await upkeep.prune(older_than, A_LOT):
        removed += step
    return removed


async def test_history_has_tables_for_this_week_and_the_eight_to_come(engine: Engine, upkeep: PostgresUpkeep) -> None:
    weeks = [await monday(engine, -number) for number in range(9)]
    found = await tables(engine)
    assert list(found) == [table_of(week) for week in weeks]
    for week in weeks:
        bounds = found[table_of(week)]
        assert f"FROM ('{week:%Y-%m-%d} 00:00:00+00') TO ('{week + WEEK:%Y-%m-%d} 00:00:00+00')" in bounds
    assert await upkeep.weeks_ahead() == 8


async def test_a_week_that_is_missing_shows_before_it_is_needed_and_is_made_again(
    engine: Engine, upkeep: PostgresUpkeep
) -> None:
    whole = await tables(engine)
    for ahead in (5, 3, 0):
        await engine.execute(f"DROP TABLE {table_of(await monday(engine, -ahead))}")
        assert await upkeep.weeks_ahead() == ahead - 1
    await upkeep.prune(RETENTION, A_LOT)
    assert await tables(engine) == whole
    assert await upkeep.weeks_ahead() == 8


async def test_a_new_week_is_indexed_as_the_others(engine: Engine, upkeep: PostgresUpkeep) -> None:
    assert await upkeep.weeks_ahead() == 8
    found = await engine.fetch(
        "SELECT tablename, count(*) FROM pg_indexes "
        "WHERE tablename LIKE 'history%' AND schemaname = current_schema() GROUP BY tablename"
    )
    counts = dict(map(tuple, found))
    assert len(counts) == 10
    assert set(counts.values()) == {counts["history"]}


async def test_many_processes_may_prepare_at_once(postgres_url: str, engine: Engine) -> None:
    whole = await tables(engine)
    async with engines(postgres_url, 4) as opened:
        for table in whole:
            await engine.execute(f"DROP TABLE {table}")
        await asyncio.gather(*(partitions.prepare(each) for each in opened * 2))
    assert await tables(engine) == whole


async def test_a_new_week_waits_for_nobody_who_uses_history(
    engine: Engine, upkeep: PostgresUpkeep, other: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await engine.execute(f"DROP TABLE {table_of(await monday(engine, -8))}")
    async with other.transaction():
        await other.execute("INSERT INTO history SELECT * FROM history")
        await upkeep.prepare()
    assert await upkeep.weeks_ahead() == 8


async def test_nobody_who_uses_history_waits_for_a_new_week(
    engine: Engine, upkeep: PostgresUpkeep, other: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await engine.execute(f"DROP TABLE {table_of(await monday(engine, -8))}")
    connection = await connect(engine.address)
    async with connection.transaction():
        await connection.execute(load("partitions")["prepare"])
        await other.execute("INSERT INTO history SELECT * FROM history")
    await connection.close()
    assert await upkeep.weeks_ahead() == 8


async def test_whole_weeks_are_dropped_once_all_their_runs_are_old_enough(
    engine: Engine, upkeep: PostgresUpkeep
) -> None:
    ages = (20, 14, 13, 12, 11)
    made = [await a_week(engine, weeks_ago) for weeks_ago in ages]
    assert await prune_all(upkeep) == 30
    found = await tables(engine)
    assert [table in found for table in made] == [False, False, False, True, True]
    assert await kept(engine) == 20


async def test_from_a_week_on_a_run_goes_with_the_last_one_of_its_week(engine: Engine, upkeep: PostgresUpkeep) -> None:
    await a_week(engine, 2)
    last_week = await a_week(engine, 1)
    assert await prune_all(upkeep, WEEK) == 10
    assert last_week in await tables(engine)
    assert await kept(engine) == 10


async def test_a_shorter_age_is_kept_to_the_moment(engine: Engine, upkeep: PostgresUpkeep) -> None:
    await a_week(engine, 3)
    now = await engine.value("SELECT now()")
    await runs_that_ended(engine, now, 3)
    assert await prune_all(upkeep, timedelta(days=6)) >= 10
    assert await kept(engine) == 3
    assert await prune_all(upkeep, timedelta(0)) == 3
    assert await kept(engine) == 0


async def test_no_run_of_a_dropped_week_is_deleted_one_by_one(engine: Engine, upkeep: PostgresUpkeep) -> None:
    table = await a_week(engine, 20)
    await engine.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a row was deleted'; END $$"
    )
    await engine.execute(f"CREATE TRIGGER refuse BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()")
    assert await prune_all(upkeep) == 10
    assert await kept(engine) == 0


async def test_what_somebody_reads_is_dropped_once_he_is_done(engine: Engine, upkeep: PostgresUpkeep) -> None:
    table = await a_week(engine, 20)
    await a_week(engine, 19)
    reader = await connect(engine.address)
    async with reader.transaction(isolation="repeatable_read", readonly=True):
        assert await reader.fetchval("SELECT count(*) FROM history") == 20
        before = await monday(engine, 12)
        for _ in range(2):
            assert await partitions.drop_outdated(engine, before, timedelta(milliseconds=50)) == 0
        assert await kept(engine) == 10  # nobody who comes now sees it, nor waits for it
        assert await reader.fetchval("SELECT count(*) FROM history") == 20
        await upkeep.prepare()
    await reader.close()
    assert await prune_all(upkeep) == 20
    assert await engine.value("SELECT to_regclass($1)", table) is None
    assert len(await tables(engine)) == 9


async def test_a_week_that_was_taken_out_but_not_dropped_is_dropped_later(
    engine: Engine, upkeep: PostgresUpkeep
) -> None:
    table = await a_week(engine, 20)
    await engine.execute(f"ALTER TABLE history DETACH PARTITION {table}")
    assert await prune_all(upkeep) == 10
    assert await engine.value("SELECT to_regclass($1)", table) is None


async def test_several_may_prune_at_once(postgres_url: str, engine: Engine, upkeep: PostgresUpkeep) -> None:
    for weeks_ago in range(15, 20):
        await a_week(engine, weeks_ago)
    async with engines(postgres_url, 2) as opened:
        await asyncio.gather(*(prune_all(PostgresUpkeep(each)) for each in opened * 2))
    await prune_all(upkeep)
    assert await kept(engine) == 0
    assert len(await tables(engine)) == 9


async def test_a_week_that_another_process_takes_out_is_left_to_it(
    engine: Engine, upkeep: PostgresUpkeep, other: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await a_week(engine, 20)
    assert await other.fetchval(load("partitions")["turn"])
    assert await prune_all(upkeep) == 0
    assert await kept(engine) == 10


async def test_what_hangs_on_forgotten_runs_goes_with_them(engine: Engine, upkeep: PostgresUpkeep) -> None:
    await a_week(engine, 20, runs=1)
    (run,) = [row[0] for row in await engine.fetch("SELECT id FROM history")]
    died = await monday(engine, 20)
    await engine.execute("INSERT INTO dead_letter VALUES ($1, 'o', $1, 'h', 'f', $2)", run, died)
    await engine.execute("INSERT INTO hidden VALUES ($1, $2)", run, died)
    await engine.execute("INSERT INTO output VALUES ($1, 1, $2, '', '', 0)", run, died)
    await engine.execute("INSERT INTO blob VALUES ('b', $1, '')", died)
    await engine.execute("UPDATE history SET result_blob = 'b'")
    assert await prune_all(upkeep, timedelta(weeks=30)) == 0
    assert await prune_all(upkeep) == 5
    left = await engine.fetch(
        "SELECT id FROM history UNION ALL SELECT run_id FROM dead_letter UNION ALL SELECT id FROM hidden "
        "UNION ALL SELECT run_id FROM output UNION ALL SELECT gen_random_uuid() FROM blob"
    )
    assert not left
