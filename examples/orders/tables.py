"""The statements, one function each; $1 is understood by PostgreSQL and by SQLite."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from examples.orders.database import Transaction
from examples.orders.messages import Checkout, Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """What there was of a SKU when somebody looked, and which look that was."""

    quantity: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a key was used for before."""

    fingerprint: str
    order: Order


async def stock(transaction: Transaction, skus: Iterable[str]) -> Mapping[str, Stock]:
    """What there is of each SKU; those that nobody sells are missing."""
    found: dict[str, Stock] = {}
    for sku in skus:
        for quantity, version in await transaction.fetch("SELECT quantity, version FROM inventory WHERE sku = $1", sku):
            found[sku] = Stock(quantity=quantity, version=version)
    return found


async def claim(transaction: Transaction, checkout: Checkout, order_id: str) -> Claim | None:
    """Take the key for *order_id*, or say what it was taken for. Whoever comes second waits for the first to end."""
    taken = await transaction.fetch(
        "INSERT INTO idempotency_keys (key, fingerprint, order_id) VALUES ($1, $2, $3)"
        " ON CONFLICT (key) DO NOTHING RETURNING order_id",
        *(checkout.idempotencyKey, checkout.fingerprint, order_id),
    )
    if taken:
        return None
    [(fingerprint, *order)] = await transaction.fetch(
        "SELECT fingerprint, id, status, total_cents FROM idempotency_keys JOIN orders ON orders.id = order_id"
        " WHERE key = $1",
        checkout.idempotencyKey,
    )
    return Claim(fingerprint=fingerprint, order=_order(order))


async def take(transaction: Transaction, sku: str, quantity: int, version: int) -> bool:
    """Take pieces out of the stock, if nobody has changed it since it was at *version*."""
    taken = await transaction.fetch(
        "UPDATE inventory SET quantity = quantity - $2, version = version + 1"
        " WHERE sku = $1 AND version = $3 RETURNING version",
        *(sku, quantity, version),
    )
    return bool(taken)


async def record(transaction: Transaction, checkout: Checkout, order_id: str) -> Order:
    """Write the order, its items and its payment, which is authorized and not yet captured."""
    await transaction.fetch(
        "INSERT INTO orders (id, user_id, total_cents) VALUES ($1, $2, $3)",
        *(order_id, checkout.userId, checkout.total_cents),
    )
    for line, item in enumerate(checkout.items, start=1):
        await transaction.fetch(
            "INSERT INTO order_items (order_id, line, sku, quantity, price_cents) VALUES ($1, $2, $3, $4, $5)",
            *(order_id, line, item.sku, item.qty, item.priceCents),
        )
    await transaction.fetch(
        "INSERT INTO payments (order_id, amount_cents) VALUES ($1, $2)", order_id, checkout.total_cents
    )
    return Order(orderId=order_id, status="placed", totalCents=checkout.total_cents)


async def capture(transaction: Transaction, order_id: str) -> None:
    """Turn an authorized payment into a captured one; once more changes nothing."""
    await transaction.fetch("UPDATE payments SET status = 'captured' WHERE order_id = $1", order_id)
    await transaction.fetch("UPDATE orders SET status = 'paid' WHERE id = $1", order_id)


async def uncharged(transaction: Transaction) -> list[str]:
    """The orders that nobody has charged yet."""
    rows = await transaction.fetch("SELECT order_id FROM payments WHERE status = 'authorized'")
    return [order_id for (order_id,) in rows]


async def find(transaction: Transaction, order_id: str) -> Order | None:
    """The order with this id."""
    rows = await transaction.fetch("SELECT id, status, total_cents FROM orders WHERE id = $1", order_id)
    return _order(rows[0]) if rows else None


async def buyer(transaction: Transaction, order_id: str) -> str:
    """Whose order it is."""
    [(user_id,)] = await transaction.fetch("SELECT user_id FROM orders WHERE id = $1", order_id)
    return str(user_id)


def _order(row: Any) -> Order:
    identity, status, total_cents = row
    return Order(orderId=identity, status=status, totalCents=total_cents)
