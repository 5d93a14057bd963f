"""What a decision of the timetable makes, as a document in the job's row.

Whoever finds a decision that isn't carried out does so from the document alone: nothing is decided again, and every
helper writes the same bytes.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.layout import home_of, micros
from mainspring.adapters.cassandra.listing import Entry
from mainspring.adapters.cassandra.records import new_row
from mainspring.adapters.cassandra.rows import Row, Value
from mainspring.adapters.cassandra.table import Kind
from mainspring.adapters.cassandra.tables import RUN
from mainspring.domain.ids import JobId, RunId, fired_run_id
from mainspring.domain.job import Job
from mainspring.domain.plan import Skip
from mainspring.domain.run import NewRun, Origin, State

_KINDS: Mapping[str, Kind] = {**RUN.clustering, **RUN.columns}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Rows to write, and a run to cancel. While *entry* is listed, some of it may be missing."""

    entry: Entry | None
    """What leads to the document once its process has died; None if there is nothing to carry out."""
    nonce: int
    """Tells this decision from the same one taken by somebody else."""
    rows: Sequence[Row] = ()
    cancel: RunId | None = None

    def to_json(self) -> bytes:
        """The document."""
        written = [_written(row) for row in self.rows]
        common = reduce(_in_both, written) if written else {}
        document = {
            "entry": None if self.entry is None else [self.entry.at, self.entry.job_id.hex, self.entry.version],
            "nonce": self.nonce,
            "common": common,
            "rows": [{name: value for name, value in row.items() if name not in common} for row in written],
            "cancel": None if self.cancel is None else self.cancel.hex,
        }
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, text: bytes) -> "Document":
        """Read back what `to_json` wrote."""
        document: dict[str, Any] = json.loads(text)
        entry, cancel = document["entry"], document["cancel"]
        return cls(
            entry=None if entry is None else Entry(entry[0], JobId(UUID(entry[1])), entry[2]),
            nonce=document["nonce"],
            rows=[_read({**document["common"], **row}) for row in document["rows"]],
            cancel=None if cancel is None else RunId(UUID(cancel)),
        )


def run_row(new: NewRun, now: int) -> Row:
    """The row of a run that a job has fired."""
    return new_row(new, kind=Origin.RECURRING, now=now)


def skip_row(job: Job, skip: Skip, now: int) -> Row:
    """The row of moments that got no run: it has ended before it begins, under the id that the first would have had."""
    new = NewRun(
        id=fired_run_id(job.id, skip.first),
        job_id=job.id,
        task=job.task,
        due=skip.first,
        owner=job.owner,
        project=job.project,
        name=job.name,
    )
    return {
        **run_row(new, now),
        "state": int(State.SKIPPED),
        "wake_at": None,
        "finished_at": now,
        "reason": skip.reason.value,
        "skipped_to": micros(skip.last),
        "skipped_count": skip.count,
    }


def _in_both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name in other and other[name] == value}


def _written(row: Row) -> dict[str, Any]:
    """A row as JSON; where it lies follows from its id."""
    return {name: _plain(value) for name, value in row.items() if name in _KINDS and value is not None}


def _plain(value: Value) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.hex if isinstance(value, UUID) else value


def _read(columns: Mapping[str, Any]) -> Row:
    values = {name: _typed(_KINDS[name], value) for name, value in columns.items()}
    shard, slot = home_of(UUID(columns["id"]))
    return {"shard": shard, "slot": slot, **dict.fromkeys(RUN.columns), **values}


def _typed(kind: Kind, value: Any) -> Value:
    match kind:
        case Kind.UUID:
            return UUID(value)
        case Kind.BLOB:
            return b64decode(value)
        case _:
            plain: Value = value
            return plain
