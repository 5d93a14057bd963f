"""Jobs in somebody's own transaction."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from secrets import randbits
from typing import Any
from uuid import UUID

from mainspring.adapters.carried import with_trace
from mainspring.adapters.postgres.address import DEFAULT_SCHEMA
from mainspring.adapters.postgres.rows import retry_text
from mainspring.api.composing import compose
from mainspring.api.document import Document
from mainspring.api.submission import MAX_INLINE, Submission
from mainspring.client.requests import NewJob
from mainspring.client.tracing import current_trace
from mainspring.domain.ids import DEFAULT_LANE, RANDOM_BITS
from mainspring.domain.job import NewJob as StandingJob
from mainspring.domain.run import Key, NewRun
from mainspring.errors import KeyConflict
from mainspring.postgres.drivers import Marker, Rows, ask
from mainspring.postgres.names import qualified


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of one job: its id, and whether it is new or was stored under its key before."""

    id: UUID
    created: bool


def add(
    connection: Any,
    jobs: Sequence[NewJob],
    *,
    owner: str | None = None,
    schema: str = DEFAULT_SCHEMA,
    wake: bool = True,
) -> Any:
    """Store *jobs* in the transaction of *connection*; answers a sequence of `Enqueued`, awaitable if the driver is.

    Raises Invalid before anything is sent, and KeyConflict for a key that was used for another body: then, as after
    every error, roll the transaction back. The commit wakes workers by NOTIFY, which commits take turns for: with
    thousands of such transactions a second leave out *wake*, and workers look by themselves within a second.
    """
    flag = "true" if wake else "false"
    items = json.dumps([_item(job, owner) for job in jobs])

    def statement(marker: Marker) -> str:
        return (
            f"SELECT id, answer FROM {qualified(schema, 'enqueue')}(CAST({marker(1)} AS jsonb), {flag}) ORDER BY place"  # noqa: S608 - the schema's name was checked
        )

    def read(rows: Rows) -> Sequence[Enqueued]:
        for job, (identity, answer) in zip(jobs, rows, strict=True):
            if answer == "conflict":
                raise KeyConflict(f"the key {job.key!r} was used for another body, by job {identity}")
        return [Enqueued(UUID(str(identity)), answer == "created") for identity, answer in rows]

    return ask(connection, statement, [items], read)


def _item(job: NewJob, owner: str | None) -> dict[str, Any]:
    body = {"payload": None, **job.body}
    payload = json.dumps(body["payload"], ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    submission = Submission.of(Document(body, payload), owner=owner)
    request = submission.pattern.request
    now = datetime.now(UTC)
    item = compose(
        submission.pattern,
        payload=payload,
        owner=submission.owner,
        key=None if submission.key is None else Key(text=submission.key, body=submission.digest),
        lane=DEFAULT_LANE,
        now=now,
        random_bits=randbits(RANDOM_BITS),
        trace=current_trace(),
    )
    return {
        **(_run(item) if isinstance(item, NewRun) else _standing(item)),
        "handler": request.handler,
        "lane": request.lane,
        "unknown": request.allow_unknown_handler,
        "data": _text(payload),
        "blob": hashlib.sha256(payload).hexdigest() if len(payload) > MAX_INLINE else None,
    }


def _run(run: NewRun) -> dict[str, Any]:
    due = run.due
    return {
        "id": str(run.id),
        "owner": run.owner,
        "project": run.project,
        "name": run.name,
        **_key(run.key),
        "spec": None if run.spec is None else _text(run.spec),
        "due_at": None if isinstance(due, timedelta) else due.isoformat(),
        "delay": _seconds(due) if isinstance(due, timedelta) else None,
        "priority": run.task.priority,
        "timeout": _seconds(run.task.timeout),
        "retry": with_trace(retry_text(run.task.retry), run.task.trace),
    }


def _standing(new: StandingJob) -> dict[str, Any]:
    job = new.job
    return {
        "id": str(job.id),
        "owner": job.owner,
        "project": job.project,
        "name": job.name,
        **_key(new.key),
        "terms": _text(job.terms.to_json()),
        "state": int(job.state),
        "next_fire_at": None if job.next_fire_at is None else job.next_fire_at.isoformat(),
        "wake_at": None if job.wake_at is None else job.wake_at.isoformat(),
        "priority": job.task.priority,
        "timeout": _seconds(job.task.timeout),
        "retry": retry_text(job.task.retry),
    }


def _key(key: Key | None) -> dict[str, Any]:
    return {} if key is None else {"key": key.text, "body": _text(key.body)}


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.6f} seconds"


def _text(data: bytes) -> str:
    return b64encode(data).decode()
