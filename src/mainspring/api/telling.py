"""Changes as server-sent events: what each says, and who may hear it."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mainspring.api.representation import instant, shown_worker, worker_status
from mainspring.api.words import execution_word
from mainspring.domain.job import JobState
from mainspring.ports.changes import Batch, Count, JobChange, Position, RunChange
from mainspring.ports.sessions import Member


@dataclass(frozen=True, slots=True)
class Audience:
    """Who listens, and to what; None means everything."""

    owner: str | None
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; *owner* is None if it is everybody's business."""

    text: bytes
    owner: str | None = None
    job_id: UUID | None = None

    def concerns(self, audience: Audience) -> bool:
        """Whether this audience may hear it and wants to."""
        permitted = self.owner is None or audience.owner in (None, self.owner)
        return permitted and audience.job_id in (None, self.job_id)


def run_event(run: RunChange) -> Event:
    """A run that changed."""
    content = {
        "id": str(run.id),
        "job_id": str(run.job_id),
        "name": run.name,
        "handler": run.handler,
        "status": execution_word(run.state),
        "reason": run.reason,
        "attempt": run.attempt,
        "token": run.fence,
        "worker_id": run.worker,
        "fire_time": instant(run.due_at),
        "started_at": instant(run.started_at),
        "completed_at": instant(run.finished_at),
    }
    return Event(_text("run", content), run.owner, run.job_id)


def job_event(job: JobChange) -> Event:
    """A standing job that was added, edited or deleted. Its status depends on its runs: whoever wants it asks."""
    content = {
        "id": str(job.id),
        "name": job.name,
        "handler": job.handler,
        "version": job.version,
        "paused": job.state is JobState.PAUSED,
        "deleted": job.state is JobState.DELETED,
        "next_run_time": instant(job.next_fire_at) if job.state is JobState.ACTIVE else None,
    }
    return Event(_text("job", content), job.owner, job.id)


def worker_events(before: Mapping[int, Member], now: Mapping[int, Member]) -> Sequence[Event]:
    """Workers that came and went, drained and were resumed."""
    gone = [{**shown_worker(member), "status": "gone"} for key, member in before.items() if key not in now]
    come = [shown_worker(member) for key, member in now.items() if _status(before.get(key)) != worker_status(member)]
    return [Event(_text("worker", content)) for content in (*gone, *come)]


def counts_event(counts: Mapping[str, Count], audience: Audience) -> Event | None:
    """How much has changed that this audience may know of; None for nothing."""
    heard = [count for owner, count in counts.items() if audience.owner in (None, owner)]
    runs: Counter[str] = Counter()
    for count in heard:
        runs.update({execution_word(state): amount for state, amount in count.runs.items()})
    jobs = sum(count.jobs for count in heard)
    return Event(_text("counts", {"runs": dict(runs), "jobs": jobs})) if runs or jobs else None


def events_of(batch: Batch) -> list[Event]:
    """Everything that a batch names."""
    return [*map(job_event, batch.jobs), *map(run_event, batch.runs)]


def chunk(events: Sequence[Event], batch: Batch, audience: Audience) -> tuple[bytes, int]:
    """What *audience* hears of a batch, and how many events that is.

    Only the last of them carries the position: whoever is cut off in the middle hears all of them again.
    """
    heard = [event.text for event in events if event.concerns(audience)]
    if batch.counts is not None and audience.job_id is None:
        counted = counts_event(batch.counts, audience)
        heard += [] if counted is None else [counted.text]
    if not heard:
        return b"", 0
    heard[-1] = mark(batch.position) + heard[-1]
    return b"".join(heard), len(heard)


def reset_event(position: Position) -> bytes:
    """What happened can't be told any more: read everything again."""
    return mark(position) + _text("reset", {"detail": "too much has happened since; read what you need again"})


def slow_event() -> bytes:
    """The last words to a reader that can't keep up."""
    return b"retry: 1000\n" + _text("slow", {"detail": "events came faster than you read them; connect again"})


def mark(position: Position) -> bytes:
    """Where a reader has got to: it sends this back as Last-Event-ID."""
    return b"id: " + position.encode() + b"\n"


def _status(member: Member | None) -> str | None:
    return None if member is None else worker_status(member)


def _text(kind: str, content: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(content, separators=(',', ':'))}\n\n".encode()
