"""What makes a run findable: its entries in the indexes, written before the truth that they lead to."""

from collections.abc import Sequence

from mainspring.adapters.cassandra.copies import copied
from mainspring.adapters.cassandra.layout import EVERYTHING, month_of, slot_of
from mainspring.adapters.cassandra.rows import Put, Row
from mainspring.adapters.cassandra.tables import (
    DEAD,
    DUE,
    DUE_SLOT,
    OWNER,
    REVISIT,
    RUN_BY_JOB,
    RUN_BY_OWNER,
    SLOT,
)
from mainspring.adapters.cassandra.values import identity, number
from mainspring.domain.outcome import fingerprint

REVISIT_AFTER = 6
"""Minutes from the one in which a run wakes to the one in which somebody looks whether it was found."""


def of_new_run(row: Row) -> Sequence[Put]:
    """Where a run is listed for good."""
    month, one_shot = month_of(identity(row, "id")), row["job_id"] == row["id"]
    listed = [
        Put(table=OWNER, row={"everything": EVERYTHING, "owner": row["owner"], "month": month}),
        Put(table=SLOT, row={"shard": row["shard"], "slot": row["slot"]}),
        Put(table=RUN_BY_OWNER, row={"owner": row["owner"], "month": month, "id": row["id"], "one_shot": one_shot}),
    ]
    if not one_shot:
        listed.append(Put(table=RUN_BY_JOB, row={"job_id": row["job_id"], "month": month, "id": row["id"]}))
    return listed


def of_waiting_run(row: Row) -> Sequence[Put]:
    """Where a run that waits is found when it wakes: by *indexed_at*, which lies ahead of every cursor.

    While a ticket of it is out, that is when claims may have it; whoever takes tickets passes over the entry.
    """
    indexed_at = number(row, "indexed_at")
    minute = slot_of(indexed_at)
    return [
        Put(table=DUE_SLOT, row={"lane": row["lane"], "slot": minute, "shard": row["shard"]}),
        Put(table=REVISIT, row={"shard": row["shard"], "at": minute + REVISIT_AFTER, "slot": row["slot"]}),
        Put(
            table=DUE,
            row={
                "shard": row["shard"],
                "lane": row["lane"],
                "slot": minute,
                "wake_at": indexed_at,
                "id": row["id"],
                "fence": row["fence"],
                "priority": row["priority"],
                "owner": row["owner"],
                "since": row["wake_at"],
                "ticketed": True if row.get("ticket") == row["fence"] else None,
                "copy": copied(row),
            },
        ),
    ]


def of_dead_run(row: Row, *, error: str, now: int) -> Put:
    """Its place on the list of dead letters; it is on it only once it is dead."""
    handler = str(row["handler"])
    return Put(
        table=DEAD,
        row={
            **_letter(row),
            "job_id": row["job_id"],
            "handler": handler,
            "fingerprint": fingerprint(handler, error),
            "died_at": now,
        },
    )


def of_resolved_run(row: Row) -> Put:
    """Its place on the list of dead letters, crossed out. Nothing ever takes that back, so that no clock matters."""
    return Put(table=DEAD, row={**_letter(row), "resolved": True})


def _letter(row: Row) -> Row:
    return {"owner": row["owner"], "month": month_of(identity(row, "id")), "id": row["id"]}
