"""Followers and transactions that take their time: places are snapshots, and the order of commits doesn't matter."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID

import asyncpg
import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.postgres.upkeep import PostgresUpkeep
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.ports.changes import Batch, Position
from mainspring.postgres import add, new_job
from mainspring.testing.contracts.base import a_worker, added, claimed_one
from mainspring.testing.factories import Factory

AT_ONCE = timedelta(0)


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(postgres_url, clock=SystemClock(), random=SystemRandom())
    yield store
    await store.close()


@pytest.fixture
async def make(store: PostgresStore) -> Factory:
    return Factory(start=await store.views.now())


@asynccontextmanager
async def somebodys_transaction(url: str) -> AsyncIterator[tuple[asyncpg.transaction.Transaction, UUID]]:
    """A transaction with a job in it, and the job's id; it is for the caller to end it."""
    connection = await asyncpg.connect(url)
    try:
        transaction = connection.transaction()
        await transaction.start()
        (job,) = await add(connection, [new_job("test.echo", allow_unknown_handler=True)])
        yield transaction, job.id
    finally:
        await connection.close()


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
    async with somebodys_transaction(postgres_url) as (transaction, late):
        before = await store.changes.position()
        early = make.run()
        await added(store, early)
        batch = await since(store, before)
        assert [run.id for run in batch.runs] == [early.id]
        await transaction.commit()
    after = await since(store, batch.position)
    assert [run.id for run in after.runs] == [late]
    assert not (await since(store, after.position)).runs


async def test_what_committed_late_and_was_added_up_before_it_was_told_is_lost(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url) as (transaction, _):
        await added(store, make.run())
        position = await store.changes.position()
        await transaction.commit()
    await fold(postgres_url)
    assert await store.changes.since(position, most=100) is None


async def test_nothing_is_lost_with_a_transaction_that_was_rolled_back(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url) as (transaction, _):
        await added(store, make.run())
        position = await store.changes.position()
        await transaction.rollback()
    await fold(postgres_url)
    assert not (await since(store, position)).runs


async def test_nothing_is_lost_while_a_transaction_is_still_open(
    store: PostgresStore, postgres_url: str, make: Factory
) -> None:
    async with somebodys_transaction(postgres_url):
        await added(store, make.run())
        position = await store.changes.position()
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
