"""How entries of the log of changes lie in rows: what is told of an owner's runs at one time lies in one.

A row costs a process and a node about as much as a hundred entries in one. The first entry lies in the columns, the
others packed beside it. Its key is the first one's, and so are the owner and the instant of all.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.values import content

MOST_TOGETHER = 500
"""Entries of one row: as many fit into a batch, with room to spare."""

_OTHER = struct.Struct(">16s16sii")
"""The id, the job's id, the fence and the state."""


def together(entries: Sequence[Row]) -> Iterator[Row]:
    """Rows that hold all *entries*, which were made at one time; those of standing jobs have one each."""
    owners: dict[tuple[object, object], list[Row]] = {}
    for entry in entries:
        owners.setdefault((entry["owner"], entry["id"] if entry["job_id"] is None else None), []).append(entry)
    for alike in owners.values():
        for start in range(0, len(alike), MOST_TOGETHER):
            first, *others = alike[start : start + MOST_TOGETHER]
            yield {**first, "others": b"".join(map(_packed, others))} if others else first


def apart(rows: Sequence[Row]) -> Iterator[Row]:
    """The entries that *rows* hold."""
    for row in rows:
        yield row
        if row["others"] is not None:
            for run_id, job_id, fence, state in _OTHER.iter_unpack(content(row, "others")):
                yield {**row, "id": UUID(bytes=run_id), "job_id": UUID(bytes=job_id), "fence": fence, "state": state}


def _packed(entry: Mapping[str, Any]) -> bytes:
    return _OTHER.pack(entry["id"].bytes, entry["job_id"].bytes, entry["fence"], entry["state"])
