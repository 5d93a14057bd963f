"""The checkout: one transaction takes the key, the pieces and the money's promise, and adds the job that charges it.

The stock is read before, without a lock, and taken only if its version is still the same. Somebody who was faster makes
the transaction roll back, and it is tried again with what there is then.
"""

from collections.abc import Mapping
from typing import Literal
from uuid import uuid4

from examples.orders import tables
from examples.orders.database import Database, OrderTask, Transaction
from examples.orders.messages import Checkout, Order
from examples.orders.tables import Stock

RACES = 3
"""How often a checkout may lose against others before the customer is told."""


class Refused(Exception):
    """There is no order, and nothing was changed."""

    def __init__(
        self, error: Literal["insufficient_inventory", "inventory_conflict", "idempotency_conflict"], detail: str
    ) -> None:
        super().__init__(detail)
        self.error = error
        self.detail = detail


class LostRace(Exception):
    """Somebody else was faster."""


async def check_out(database: Database, charge: OrderTask, checkout: Checkout) -> tuple[Order, bool]:
    """The order, and whether it is new; Refused if there is none."""
    for _ in range(RACES):
        async with database.transaction() as looking:
            seen = await tables.stock(looking, checkout.pieces)
        try:
            async with database.transaction() as transaction:
                return await _place(transaction, charge, checkout, seen)
        except LostRace:
            continue
    raise Refused("inventory_conflict", "others were faster each time: send the same request again")


async def _place(
    transaction: Transaction, charge: OrderTask, checkout: Checkout, seen: Mapping[str, Stock]
) -> tuple[Order, bool]:
    order_id = str(uuid4())
    known = await tables.claim(transaction, checkout, order_id)
    if known is not None:
        if known.fingerprint != checkout.fingerprint:
            raise Refused("idempotency_conflict", "the key was used for another request")
        return known.order, False
    # In the same sequence everywhere, so that two checkouts never wait for each other.
    for sku, quantity in sorted(checkout.pieces.items()):
        there = seen.get(sku, Stock(quantity=0, version=0))
        if there.quantity < quantity:
            raise Refused("insufficient_inventory", f"there are {there.quantity} pieces of {sku}")
        if not await tables.take(transaction, sku, quantity, there.version):
            raise LostRace
    order = await tables.record(transaction, checkout, order_id)
    await transaction.add_job(charge, order_id)
    return order, True
