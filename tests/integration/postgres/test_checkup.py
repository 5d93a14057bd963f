"""What the store says about its own health."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from mainspring.adapters.postgres import checkup
from mainspring.adapters.postgres.checkup import PostgresCheckup
from mainspring.adapters.postgres.engine import Engine
from mainspring.ports.checkup import Remark


async def remarks(engine: Engine) -> dict[str, Remark]:
    return {remark.subject: remark for remark in await PostgresCheckup(engine).examine()}


async def test_a_new_store_is_well(engine: Engine) -> None:
    found = await remarks(engine)
    assert list(found) == ["server", "autovacuum", "connections", "bloat", "snapshots", "indexes", "history"]
    assert [remark for remark in found.values() if remark.step] == []


async def test_a_missing_index_endangers_the_store(engine: Engine) -> None:
    await engine.execute("DROP INDEX queue_claim")
    remark = (await remarks(engine))["indexes"]
    assert "queue_claim" in remark.text
    assert remark.endangers


async def test_an_old_snapshot_is_named_with_its_process(
    engine: Engine, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "OLD_SNAPSHOT", timedelta(0))
    connection = await asyncpg.connect(postgres_url, server_settings={"application_name": "forgotten report"})
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    remark = (await remarks(engine))["snapshots"]
    assert "forgotten report, idle in transaction" in remark.text
    assert remark.step
    assert await PostgresCheckup(engine).oldest_snapshot() > timedelta(0)
    await connection.close()


async def test_a_history_that_cannot_be_written_for_long_endangers_the_store(engine: Engine) -> None:
    weeks = await engine.fetch("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'history'::regclass")
    for week in sorted(str(table) for (table,) in weeks)[2:]:
        await engine.execute(f"DROP TABLE {week}")
    remark = (await remarks(engine))["history"]
    assert "for 1 weeks" in remark.text
    assert remark.endangers


async def test_lost_vacuum_settings_are_noticed(engine: Engine) -> None:
    await engine.execute("ALTER TABLE queue RESET (autovacuum_vacuum_scale_factor)")
    assert "autovacuum settings" in (await remarks(engine))["bloat"].text


async def test_dead_rows_that_outnumber_the_living_are_noticed(engine: Engine) -> None:
    await engine.execute("ALTER TABLE blob SET (autovacuum_enabled = off)")
    await engine.execute("INSERT INTO blob (id, data) SELECT n::text, '' FROM generate_series(1, 100001) n")
    await engine.execute("DELETE FROM blob")
    await engine.execute("ANALYZE blob")
    async with asyncio.timeout(30):
        while "blob (100,001 dead rows beside 0" not in (await remarks(engine))["bloat"].text:  # noqa: ASYNC110 - the server tells when it finds the time, and nobody when it has
            await asyncio.sleep(0.05)
