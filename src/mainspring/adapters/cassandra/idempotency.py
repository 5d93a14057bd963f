"""Clients' keys: whoever comes first with one decides what it stands for."""

from datetime import datetime
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import instant, micros
from mainspring.adapters.cassandra.rows import Change, Row, UnknownOutcome
from mainspring.adapters.cassandra.tables import IDEMPOTENCY
from mainspring.adapters.cassandra.values import identity, number
from mainspring.domain.run import Key
from mainspring.ports.work import Added, Addition


async def reserve(context: Context, owner: str, key: Key, subject: UUID, now: datetime) -> Added | None:
    """Let *key* stand for *subject* from now on, and return None; or say what it has stood for, and since when."""
    partition = (owner, key.text)
    values: Row = {"id": subject, "body": key.body, "accepted_at": micros(now)}
    try:
        taken = await context.rows.cas_batch(IDEMPOTENCY, partition, [Change(key=(), values=values)])
    except UnknownOutcome:
        taken = await context.rows.get(IDEMPOTENCY, partition, settled=True)
        if not taken:
            return await reserve(context, owner, key, subject, now)
        if taken[0]["id"] == subject and taken[0]["accepted_at"] == micros(now):
            return None
    if taken is None:
        return None
    if not {"id", "body", "accepted_at"} <= taken[0].keys():
        # An insert compares nothing, so that its answer may have no more than the key.
        taken = await context.rows.get(IDEMPOTENCY, partition, settled=True)
    (row,) = taken
    kind = Addition.EXISTING if row["body"] == key.body else Addition.CONFLICT
    return Added(kind, identity(row, "id"), instant(number(row, "accepted_at")))
