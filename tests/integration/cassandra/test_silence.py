"""What isn't heard of is unknown: never taken for failure, and settled by one read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import pytest

from mainspring.adapters.cassandra import driver as driving
from mainspring.adapters.cassandra.address import Address
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.rows import Change, Put, Rows, UnknownOutcome
from mainspring.adapters.cassandra.tables import LOCK, SIGNAL
from mainspring.errors import StoreUnavailable
from tests.integration.cassandra.relay import Relay, relayed

SHORTLY = 0.5


@asynccontextmanager
async def wired(
    node: Address, monkeypatch: pytest.MonkeyPatch, *, patience: float
) -> AsyncIterator[tuple[Relay, Rows]]:
    """Rows by way of a relay, whose driver waits so many seconds for an answer."""
    async with relayed(node) as (relay, port):
        monkeypatch.setattr(driving, "REQUEST_SECONDS", patience)
        driver = await Driver.connect(replace(node, hosts=("127.0.0.1",), port=port))
        rows = CqlRows(driver)
        # Statements are prepared before anything goes silent: only what is decided is to be in doubt.
        assert await rows.cas_batch(LOCK, (uuid4().hex,), [made()]) is None
        assert not await rows.get(LOCK, (uuid4().hex,), settled=True)
        yield relay, rows
        await driver.close()


@pytest.fixture
async def relay_and_rows(
    cassandra_driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Relay, Rows]]:
    async with wired(cassandra_driver.address, monkeypatch, patience=SHORTLY) as relay_and_rows:
        yield relay_and_rows


def made() -> Change:
    return Change(key=(), values={"fence": 1})


async def settled(driver: Driver, name: str) -> list[object]:
    return [row["fence"] for row in await CqlRows(driver).get(LOCK, (name,), settled=True)]


async def test_a_decision_whose_answer_is_lost_is_unknown_and_was_made(
    relay_and_rows: tuple[Relay, Rows], cassandra_driver: Driver
) -> None:
    relay, rows = relay_and_rows
    name = uuid4().hex
    relay.answers_pass = False
    with pytest.raises(UnknownOutcome, match="took too long"):
        await rows.cas_batch(LOCK, (name,), [made()])
    assert await settled(cassandra_driver, name) == [1]


async def test_a_decision_that_never_arrives_is_unknown_and_was_not_made(
    relay_and_rows: tuple[Relay, Rows], cassandra_driver: Driver
) -> None:
    relay, rows = relay_and_rows
    name = uuid4().hex
    relay.questions_pass = False
    with pytest.raises(UnknownOutcome, match="took too long"):
        await rows.cas_batch(LOCK, (name,), [made()])
    assert await settled(cassandra_driver, name) == []


async def test_a_decision_whose_connection_breaks_is_unknown(
    cassandra_driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = uuid4().hex
    async with wired(cassandra_driver.address, monkeypatch, patience=60) as (relay, rows):
        relay.answers_pass = False
        deciding = asyncio.create_task(rows.cas_batch(LOCK, (name,), [made()]))
        while await settled(cassandra_driver, name) != [1]:
            assert not deciding.done()
        relay.cut()
        with pytest.raises(UnknownOutcome, match="didn't answer"):
            await deciding


async def test_plain_reads_and_writes_that_are_not_answered_are_unavailable(
    relay_and_rows: tuple[Relay, Rows],
) -> None:
    relay, rows = relay_and_rows
    signal = Put(table=SIGNAL, row={"everything": 1, "topic": "t", "stamp": 1})
    await rows.put([signal])
    relay.answers_pass = False
    with pytest.raises(StoreUnavailable) as reading:
        await rows.get(LOCK, (uuid4().hex,), settled=True)
    with pytest.raises(StoreUnavailable) as writing:
        await rows.put([signal])
    assert not isinstance(reading.value, UnknownOutcome)
    assert not isinstance(writing.value, UnknownOutcome)


async def test_work_goes_on_over_a_new_connection(relay_and_rows: tuple[Relay, Rows]) -> None:
    relay, rows = relay_and_rows
    relay.cut()
    name = uuid4().hex
    for _ in range(200):
        try:
            await rows.get(LOCK, (name,), settled=True)
        except StoreUnavailable:
            await asyncio.sleep(0.05)
        else:
            break
    assert await rows.cas_batch(LOCK, (name,), [made()]) is None


async def test_a_call_that_is_given_up_leaves_the_others_alone(cassandra_driver: Driver) -> None:
    rows = CqlRows(cassandra_driver)
    name = uuid4().hex
    given_up = asyncio.create_task(rows.cas_batch(LOCK, (name,), [made()]))
    await asyncio.sleep(0)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await rows.cas_batch(LOCK, (uuid4().hex,), [made()]) is None
