"""The service is killed, and no order is left that nobody will charge."""

import asyncio
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from tests.orders.serving import PATIENCE, Place, Service, checkout, client, served

WITHOUT_A_JOB = """
    SELECT orders.id FROM orders WHERE 'orders.charge/' || orders.id NOT IN
    (SELECT key FROM mainspring.queue WHERE key IS NOT NULL
     UNION SELECT key FROM mainspring.history WHERE key IS NOT NULL)
"""
WAITS_FOR_THE_JOB = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND query ~ 'enqueue' AND wait_event_type = 'Lock'
"""
CUSTOMERS = 60


@pytest.fixture
def place(postgres_url: str, tmp_path: Path) -> Place:
    return Place(folder=tmp_path, url=postgres_url)


async def until_rows(place: Place, query: str, count: int) -> None:
    """Neither a database nor the service tells when it has gone on: look again until it has."""
    async with asyncio.timeout(PATIENCE):
        while len(place.rows(query)) < count:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)


async def ordered(shop: httpx.AsyncClient, key: str) -> None:
    """Order, however often it takes; a service that has been killed doesn't answer any more."""
    while (await shop.post("/checkout", json=checkout(key))).status_code not in (200, 201):
        pass


async def test_a_kill_before_the_commit_leaves_neither_order_nor_job(place: Place) -> None:
    assert place.url is not None
    with served(place) as service:
        url = service.url()
        with psycopg.connect(place.url) as connection:
            # The order is written, and the job that follows it has to wait.
            connection.execute("LOCK TABLE mainspring.queue IN EXCLUSIVE MODE")
            async with client(url) as shop, asyncio.TaskGroup() as customers:
                customers.create_task(refused(shop))
                await until_rows(place, WAITS_FOR_THE_JOB, 1)
                service.kill()
            connection.rollback()
    assert place.rows("SELECT 1 FROM orders") == []
    assert place.rows("SELECT 1 FROM mainspring.queue WHERE handler = 'orders.charge'") == []


async def refused(shop: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.TransportError):
        await shop.post("/checkout", json=checkout("KEY"))


async def test_a_kill_under_load_leaves_no_order_without_its_job_and_repetition_completes_the_rest(
    place: Place,
) -> None:
    keys = [f"{uuid4()}" for _ in range(CUSTOMERS)]
    with served(place) as service:
        await until_killed(service, keys)
    assert place.rows(WITHOUT_A_JOB) == []
    with served(place) as service:
        async with client(service.url()) as shop:
            await asyncio.gather(*(ordered(shop, key) for key in keys))
        await until_rows(place, "SELECT 1 FROM payments WHERE status = 'captured'", CUSTOMERS)
    assert place.rows("SELECT count(*) FROM orders WHERE status = 'paid'") == [(CUSTOMERS,)]
    assert place.stock("SKU-RED-TSHIRT") == (100 - CUSTOMERS, CUSTOMERS)
    assert place.rows(WITHOUT_A_JOB) == []


async def until_killed(service: Service, keys: list[str]) -> None:
    """Customers order all at once, and as soon as a third of them has an order the service is gone."""
    enough = asyncio.Semaphore(0)

    async def customer(shop: httpx.AsyncClient, key: str) -> None:
        with suppress(httpx.TransportError):
            await ordered(shop, key)
            enough.release()

    async with client(service.url()) as shop, asyncio.TaskGroup() as customers:
        for key in keys:
            customers.create_task(customer(shop, key))
        for _ in range(CUSTOMERS // 3):
            await enough.acquire()
        service.kill()


async def test_on_sqlite_an_order_whose_job_was_never_added_gets_it_at_the_next_start(tmp_path: Path) -> None:
    place = Place(folder=tmp_path)
    with served(place) as service, closing(sqlite3.connect(tmp_path / "mainspring.db", isolation_level=None)) as file:
        url = service.url()
        # The order is committed, and the job that follows it has to wait.
        file.execute("BEGIN IMMEDIATE")
        async with client(url) as shop, asyncio.TaskGroup() as customers:
            customers.create_task(refused(shop))
            await until_rows(place, "SELECT 1 FROM orders", 1)
            service.kill()
        file.execute("ROLLBACK")
        assert file.execute("SELECT 1 FROM queue WHERE handler = 'orders.charge'").fetchall() == []
    with served(place) as service:
        await until_rows(place, "SELECT 1 FROM orders WHERE status = 'paid'", 1)
