"""Jobs, runs and workers as the wire shows them. Field names and their order are the contract's."""

from datetime import UTC, datetime, timedelta
from typing import Any

from mainspring.api.document import Raw
from mainspring.api.words import execution_word, job_word
from mainspring.domain.job import JobState, Terms
from mainspring.domain.run import Run, State
from mainspring.domain.suspects import WAITS
from mainspring.domain.task import Task
from mainspring.ports.output import Printed
from mainspring.ports.sessions import Member
from mainspring.ports.views import DeadLetter, JobRecord


def shown_job(record: JobRecord, payload: bytes | None) -> dict[str, Any]:
    """A job; *payload* is its text, or None where it lies in a blob that wasn't fetched: then the field is left out."""
    job = record.job
    return {
        "id": str(job.id),
        "key": job.key,
        "name": job.name,
        "description": job.terms.description,
        "handler": job.task.handler,
        **({} if payload is None else {"payload": Raw(payload)}),
        **when(job.terms, one_shot=one_shot(record)),
        **how(job.task),
        **exceptions_of(job.terms),
        "owner": job.owner,
        "project_id": job.project,
        "status": job_word(job, record.run),
        "next_run_time": next_run_time(record),
        "created_at": instant(job.created_at),
        "updated_at": instant(job.updated_at),
        "version": job.version,
    }


def shown_run(run: Run, result: bytes | None, printed: Printed | None = None) -> dict[str, Any]:
    """An execution, with its result's text."""
    return {
        "id": str(run.id),
        "job_id": str(run.job_id),
        "status": execution_word(run.state),
        "reason": reason(run),
        "retry_of": None if run.origin is None else str(run.origin),
        "fire_time": instant(run.due_at),
        "skipped_to": instant(run.skipped_to),
        "skipped_count": run.skipped_count,
        "attempt": run.attempt,
        "token": run.fence,
        "priority": run.task.priority,
        "worker_id": run.worker,
        "scheduled_at": instant(scheduled_at(run)),
        "started_at": instant(run.started_at),
        "completed_at": instant(run.finished_at),
        "duration_ms": duration_ms(run),
        "result": None if result is None else Raw(result),
        "output": None if printed is None else shown_output(printed),
        "error": run.error,
    }


def shown_letter(letter: DeadLetter) -> dict[str, Any]:
    """A dead letter: the execution, and what it died of."""
    return {
        **shown_run(letter.run, letter.run.result),
        "handler": letter.run.task.handler,
        "fingerprint": letter.fingerprint,
        "died_at": instant(letter.died_at),
    }


def shown_worker(member: Member) -> dict[str, Any]:
    """A live worker or scheduler."""
    return {
        "id": member.name,
        "session": member.id,
        "status": worker_status(member),
        "host": member.host,
        "pid": member.pid,
        "capacity": member.capacity,
        "executing": member.executing,
        "lanes": list(member.lanes),
        "started_at": instant(member.opened_at),
        "last_heartbeat": instant(member.beat_at),
        "clock_skew_ms": milliseconds(member.skew),
        "trouble": member.trouble,
    }


def worker_status(member: Member) -> str:
    """Whether it takes work, and if not, whether it has nothing left in hand."""
    return "drained" if member.drained else "draining" if member.draining else "active"


def shown_output(printed: Printed) -> str:
    """What a run printed, with a mark where the middle was left out."""
    left_out = printed.length - len(printed.head) - len(printed.tail)
    gap = f"\n… {left_out} bytes left out …\n".encode() if left_out > 0 else b""
    return (printed.head + gap + printed.tail).decode("utf-8", "replace")


def next_run_time(record: JobRecord) -> str | None:
    """The next moment: a one-shot's own, or else the timetable's; none while the job is paused."""
    if record.job.state is JobState.PAUSED:
        return None
    run = record.run
    if run is not None and run.state is State.WAITING and run.id == record.job.id:
        return instant(scheduled_at(run))
    return instant(record.job.next_fire_at)


def reason(run: Run) -> str | None:
    """Why it ended, or was put back; of a suspect also why it is one."""
    if run.state is not State.WAITING or not run.suspect or run.reason == WAITS:
        return run.reason
    return WAITS if run.reason is None else f"{WAITS} ({run.reason})"


def scheduled_at(run: Run) -> datetime:
    """When a waiting run is tried next, and when any other was due."""
    return run.wake_at if run.state is State.WAITING and run.wake_at is not None else run.due_at


def one_shot(record: JobRecord) -> bool:
    """Whether the job is its own first run."""
    run = record.run
    return run is not None and run.id == record.job.id


def instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def milliseconds(duration: timedelta) -> int:
    """Whole milliseconds."""
    return round(duration / timedelta(milliseconds=1))


def duration_ms(run: Run) -> int | None:
    """How long the last attempt took, once it has ended."""
    if run.started_at is None or run.finished_at is None:
        return None
    return max(0, milliseconds(run.finished_at - run.started_at))


def when(terms: Terms, *, one_shot: bool) -> dict[str, Any]:
    """A job's fields that say when it runs."""
    return {
        "schedule": "now" if one_shot and terms.schedule == "on-demand" else terms.schedule,
        "timezone": terms.timezone,
        "starts_at": instant(terms.starts_at),
    }


def how(task: Task) -> dict[str, Any]:
    """A job's fields that say how it is executed."""
    retry = task.retry
    return {
        "priority": task.priority,
        "max_retries": retry.max_retries,
        "retry": {
            "kind": retry.kind,
            "initial_ms": milliseconds(retry.initial),
            "max_ms": milliseconds(retry.maximum),
            "jitter": retry.jitter,
        },
        "timeout_ms": milliseconds(task.timeout),
        "lane": task.lane,
    }


def exceptions_of(terms: Terms) -> dict[str, Any]:
    """A job's fields that say what happens when something comes in between."""
    return {
        "misfire": {"grace_ms": milliseconds(terms.misfire.grace), "policy": terms.misfire.policy},
        "overlap": terms.overlap,
        "dst": {"gap": terms.dst.gap, "fold": terms.dst.fold},
        "allow_unknown_handler": terms.allow_unknown_handler,
    }
