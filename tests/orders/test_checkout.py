"""The checkout service as customers meet it, on SQLite and on PostgreSQL."""

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.orders.serving import BLUE, PATIENCE, RED, Place, checkout, client

LOSES_EVERY_RACE = {
    "sqlite": "CREATE TRIGGER others_are_faster BEFORE UPDATE ON inventory BEGIN SELECT RAISE(IGNORE); END",
    "postgresql": """
        CREATE FUNCTION others_are_faster() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER others_are_faster BEFORE UPDATE ON inventory FOR EACH ROW EXECUTE FUNCTION others_are_faster()
    """,
}
FAIR_AGAIN = {
    "sqlite": "DROP TRIGGER others_are_faster",
    "postgresql": "DROP FUNCTION others_are_faster CASCADE",
}


def written(place: Place) -> list[int]:
    """How many rows each table has that a checkout writes to."""
    tables = ("orders", "order_items", "payments", "idempotency_keys")
    return [place.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables]  # noqa: S608 - our own names


async def paid(shop: httpx.AsyncClient, order_id: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while (order := (await shop.get(f"/orders/{order_id}")).json())["status"] != "paid":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return dict(order)


async def test_an_order_is_made_once_and_then_charged(place: Place, url: str) -> None:
    """S0-25, 60 to 63, 75."""
    wanted = checkout(f"KEY-{uuid4()}")
    async with client(url) as shop:
        first = await shop.post("/checkout", json=wanted)
        again = await shop.post("/checkout", json=wanted)
        assert (first.status_code, again.status_code) == (201, 200)
        order = first.json()
        assert order == {"orderId": str(UUID(order["orderId"])), "status": "placed", "totalCents": 1999}
        assert again.json()["orderId"] == order["orderId"]
        assert await paid(shop, order["orderId"]) == {**order, "status": "paid"}
    assert place.stock(RED) == (99, 1)
    assert sorted(sku for (sku,) in place.rows("SELECT sku FROM inventory")) == [BLUE, RED]
    [(status, amount)] = place.rows(
        f"SELECT status, amount_cents FROM payments WHERE order_id = '{order['orderId']}'"  # noqa: S608
    )
    assert (status, amount) == ("captured", 1999)


async def test_a_hundred_customers_never_get_more_than_the_ten_pieces_there_are(place: Place, url: str) -> None:
    """S0-65."""
    place.restock(RED, 10)
    wave = uuid4()

    async def customer(shop: httpx.AsyncClient, number: int) -> str:
        wanted = checkout(f"{wave}-{number}")
        while True:
            answer = await shop.post("/checkout", json=wanted)
            told = "ordered" if answer.status_code == 201 else answer.json()["error"]
            if told != "inventory_conflict":
                return str(told)

    async with client(url) as shop:
        told = await asyncio.gather(*(customer(shop, number) for number in range(100)))
    assert Counter(told) == {"ordered": 10, "insufficient_inventory": 90}
    assert place.stock(RED) == (0, 10)


async def test_fifty_times_the_same_request_is_one_order(place: Place, url: str) -> None:
    """S0-64."""
    before = written(place)
    wanted = checkout(f"KEY-{uuid4()}", (RED, 2), (BLUE, 3))
    async with client(url) as shop:
        answers = await asyncio.gather(*(shop.post("/checkout", json=wanted) for _ in range(50)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 49}
    assert len({answer.json()["orderId"] for answer in answers}) == 1
    assert [after - count for after, count in zip(written(place), before, strict=True)] == [1, 2, 1, 1]
    assert (place.stock(RED), place.stock(BLUE)) == ((98, 1), (97, 1))


async def test_a_key_belongs_to_one_request(place: Place, url: str) -> None:
    """S0-68."""
    key = f"KEY-{uuid4()}"
    async with client(url) as shop:
        assert (await shop.post("/checkout", json=checkout(key))).status_code == 201
        other = await shop.post("/checkout", json=checkout(key, (RED, 2)))
    assert (other.status_code, other.json()["error"]) == (409, "idempotency_conflict")
    assert place.stock(RED) == (99, 1)


@pytest.mark.parametrize("items", [[(RED, 101)], [(BLUE, 1), (RED, 60), (RED, 60)], [("SKU-UNKNOWN", 1)]])
async def test_what_is_not_there_is_not_sold(place: Place, url: str, items: list[tuple[str, int]]) -> None:
    """S0-66."""
    before = written(place)
    key = f"KEY-{uuid4()}"
    async with client(url) as shop:
        refused = await shop.post("/checkout", json=checkout(key, *items))
        assert (refused.status_code, refused.json()["error"]) == (409, "insufficient_inventory")
        assert (written(place), place.stock(BLUE)) == (before, (100, 0))
        accepted = await shop.post("/checkout", json=checkout(key))
    assert accepted.status_code == 201, "a refused request has used no key"


async def test_three_lost_races_are_told(place: Place, url: str) -> None:
    """S0-67."""
    before = written(place)
    kind = "sqlite" if place.url is None else "postgresql"
    place.execute(LOSES_EVERY_RACE[kind])
    try:
        async with client(url) as shop:
            refused = await shop.post("/checkout", json=checkout(f"KEY-{uuid4()}"))
    finally:
        place.execute(FAIR_AGAIN[kind])
    assert (refused.status_code, refused.json()["error"]) == (409, "inventory_conflict")
    assert written(place) == before


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"idempotencyKey": "k", "userId": "u", "items": []}',
        b'{"idempotencyKey": "k", "userId": "u", "items": [{"sku": "s", "qty": 0, "priceCents": 1}]}',
        b'{"idempotencyKey": "\\u0000", "userId": "u", "items": [{"sku": "s", "qty": 1, "priceCents": 1}]}',
        b'{"idempotencyKey": "\\ud800", "userId": "u", "items": [{"sku": "s", "qty": 1, "priceCents": 1}]}',
    ],
)
async def test_what_makes_no_sense_is_refused(url: str, body: bytes) -> None:
    async with client(url) as shop:
        answer = await shop.post("/checkout", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")


@pytest.mark.parametrize(("order_id", "status"), [("0a1b2c3d-0000-4000-8000-000000000000", 404), ("%00", 422)])
async def test_an_order_that_is_not_there_is_not_found(url: str, order_id: str, status: int) -> None:
    async with client(url) as shop:
        assert (await shop.get(f"/orders/{order_id}")).status_code == status
