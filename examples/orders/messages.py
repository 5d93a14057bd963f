"""What a customer's program sends and gets."""

import hashlib
import json
from collections import Counter
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

# PostgreSQL's texts can't hold the character NUL.
Text = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


class Item(BaseModel):
    """So many pieces at a price each."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sku: Text
    qty: Annotated[int, Field(ge=1, le=1_000)]
    priceCents: Annotated[int, Field(ge=0, le=100_000_000)]  # noqa: N815 - the name on the wire


class Checkout(BaseModel):
    """An order that somebody wants to make, and the key under which a repetition is known."""

    model_config = ConfigDict(extra="forbid", strict=True)

    idempotencyKey: Text  # noqa: N815 - the name on the wire
    userId: Text  # noqa: N815 - the name on the wire
    items: Annotated[list[Item], Field(min_length=1, max_length=100)]

    @property
    def pieces(self) -> Counter[str]:
        """How many pieces of each SKU, however they are spread over the items."""
        wanted: Counter[str] = Counter()
        for item in self.items:
            wanted[item.sku] += item.qty
        return wanted

    @property
    def total_cents(self) -> int:
        """What it costs."""
        return sum(item.qty * item.priceCents for item in self.items)

    @property
    def fingerprint(self) -> str:
        """The same for the same request, whatever the order of its fields was."""
        text = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class Order(BaseModel):
    """An order that is there."""

    orderId: str  # noqa: N815 - the name on the wire
    status: Literal["placed", "paid"]
    totalCents: int  # noqa: N815 - the name on the wire


class Refusal(BaseModel):
    """Why there is no order."""

    error: Literal["insufficient_inventory", "inventory_conflict", "idempotency_conflict"]
    detail: str
