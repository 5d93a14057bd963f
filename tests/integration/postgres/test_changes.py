"""Followers and transactions that take their time: places are snapshots, and the order of commits doesn't matter."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeAlias
from uuid import UUID

import asyncpg

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.postgres.upkeep import PostgresUpkeep
from mainspring.adapters.system.chance import SystemRandom
from mainspring.ports.changes import Batch, Position
from mainspring.postgres import add, new_job
from mainspring.testing.contracts.base import a_worker, added, claimed_one
from mainspring.testing.factories import Factory

AT_ONCE = timedelta(0)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@asynccontextmanager
async def somebodys_transaction(url: str) -> AsyncIterator[tuple[Connection, UUID]]:
    """A connection with a transaction that holds a job, and the job's id; it is for the caller to end it."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("BEGIN")
        (job,) = await add(connection, [new_job("test.echo", allow_unknown_handler=True)])
        yield connection, job.id
    finally:
        await connection.close()


async def position_during(somebody: Connection, store: PostgresStore) -> Position:
    """Where we are while that transaction is open; those of other tests on the server might count as lost with it."""
    own = await somebody.fetchval("SELECT pg_current_xact_id()::text")
    _, beyond, _ = (await store.changes.position()).split(".")
    return Position(f"{own}.{beyond}.{own}")


async def since(store: PostgresStore, position: Position) -> Batch:
    batch = await store.changes.since(position, most=100)
    assert batch is not None
    return batch


async def fold(url: str) -> None:
    """Add up all tallies, as if their time had come."""
    engine = Engine(address(url), SystemRandom())
    await engine.open()
    try:
        upkeep = PostgresUpkeep(engine, followed=AT_ONCE)
        while await upkeep.fold(100):
            pass
    finally:
        await engine.close()


async def test_what_commits_late_is_told_to_whoever_has_seen_what_came_after_it(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url) as (somebody, late):
        before = await store.changes.position()
        early = make.run()
        await added(store, early)
        batch = await since(store, before)
        assert [run.id for run in batch.runs] == [early.id]
        await somebody.execute("COMMIT")
    after = await since(store, batch.position)
    assert [run.id for run in after.runs] == [late]
    assert not (await since(store, after.position)).runs


async def test_what_committed_late_and_was_added_up_before_it_was_told_is_lost(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url) as (somebody, _):
        await added(store, make.run())
        position = await position_during(somebody, store)
        await somebody.execute("COMMIT")
    await fold(postgres_url)
    assert await store.changes.since(position, most=100) is None


async def test_nothing_is_lost_with_a_transaction_that_was_rolled_back(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url) as (somebody, _):
        await added(store, make.run())
        position = await position_during(somebody, store)
        await somebody.execute("ROLLBACK")
    await fold(postgres_url)
    assert not (await since(store, position)).runs


async def test_nothing_is_lost_while_a_transaction_is_still_open(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url) as (somebody, _):
        await added(store, make.run())
        position = await position_during(somebody, store)
        await fold(postgres_url)
        assert not (await since(store, position)).runs


async def test_a_place_of_a_server_that_went_back_in_time_is_none(store: PostgresStore, make: Factory) -> None:
    first, beyond, _ = (await store.changes.position()).split(".")
    await added(store, make.run())
    future = Position(f"{first}.{int(beyond) + 1_000_000}.")
    assert await store.changes.since(future, most=100) is None


async def test_a_run_is_told_as_started_once_although_it_runs_for_long(store: PostgresStore, make: Factory) -> None:
    await added(store, make.run())
    position = await store.changes.position()
    attempt = await claimed_one(store, await a_worker(store))
    batch = await since(store, position)
    assert [run.id for run in batch.runs] == [attempt.run_id]
    again = await since(store, batch.position)
    assert (list(again.runs), list(again.running or ())) == ([], [attempt.run_id])
