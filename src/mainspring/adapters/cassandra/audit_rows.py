"""Rows of the audit log: which part a number lies in, how many go together, and what a row says."""

from collections.abc import Iterator, Sequence
from typing import cast

from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.rows import MOST_BYTES, MOST_CHANGES, Put, Row
from mainspring.adapters.cassandra.tables import AUDIT_OF
from mainspring.adapters.cassandra.values import number, text
from mainspring.domain.ids import JobId
from mainspring.ports.audit import Entry, Recorded

PART = 10_000
"""Numbers of one partition."""


def part_of(wanted: int) -> int:
    """The partition that a number lies in."""
    return wanted // PART


def abouts(owner: str | None, job_id: object) -> Iterator[str]:
    """The index entries that lead to something, the narrower first."""
    if job_id is not None:
        yield f"job {job_id}"
    if owner is not None:
        yield f"owner {owner}"


def about(subject: str, wanted: int) -> Put:
    """An index entry."""
    return Put(table=AUDIT_OF, row={"about": subject, "part": part_of(wanted), "number": wanted})


def fitting(rows: Sequence[Row], first: int) -> Sequence[tuple[int, Row]]:
    """The first of *rows* with their numbers, as many as one conditional batch can insert; at least one."""
    placed: list[tuple[int, Row]] = []
    size = 0
    for wanted, row in enumerate(rows[:MOST_CHANGES], first):
        size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if placed and (size > MOST_BYTES or part_of(wanted) != part_of(first)):
            break
        placed.append((wanted, row))
    return placed


def row_from(entry: Entry, at: int) -> Row:
    """An entry's columns, but for its number."""
    columns: Row = {
        "at": at,
        "actor": entry.actor,
        "owner": entry.owner,
        "action": entry.action,
        "subject": entry.subject,
        "job_id": entry.job_id,
        "before": entry.before,
        "after": entry.after,
    }
    return {name: value for name, value in columns.items() if value is not None}


def recorded_from(row: Row) -> Recorded:
    """Read an entry back."""
    entry = Entry(
        actor=text(row, "actor"),
        owner=text(row, "owner"),
        action=text(row, "action"),
        subject=text(row, "subject"),
        job_id=cast("JobId | None", row["job_id"]),
        before=cast("bytes | None", row["before"]),
        after=cast("bytes | None", row["after"]),
    )
    return Recorded(
        number=number(row, "number"),
        at=instant(number(row, "at")),
        entry=entry,
        digest=cast("bytes | None", row["digest"]),
    )
