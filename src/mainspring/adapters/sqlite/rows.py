"""Between values and rows. Batches travel as JSON: bytes as hexadecimal digits, times as integer microseconds."""

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from mainspring.adapters.carried import with_trace, without_trace
from mainspring.domain.ids import BlobId, Fence, JobId, RunId, SessionId, Version, uuid_of
from mainspring.domain.job import Job, JobState, Terms
from mainspring.domain.retry import DEFAULT_RETRY, Backoff, RetryPolicy
from mainspring.domain.run import Attempt, Run, State
from mainspring.domain.suspects import home_lane, is_for_suspects
from mainspring.domain.task import Task

HELD = 1 << 61
"""Added to `wake_at` while a run is held: it sorts last, and releasing it gives the old time back."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OWN_ID = ""


def to_micros(instant: datetime) -> int:
    """An instant as stores keep it."""
    return (instant - _EPOCH) // _MICROSECOND


def to_instant(micros: int) -> datetime:
    """An instant from what stores keep: the last one for a wait that goes beyond it."""
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _LAST


def to_instant_or_none(micros: int | None) -> datetime | None:
    """The same, where there may be none."""
    return None if micros is None else to_instant(micros)


def micros(duration: timedelta) -> int:
    """A duration as stores keep it."""
    return duration // _MICROSECOND


def duration(micros_: int) -> timedelta:
    """A duration from what stores keep."""
    return timedelta(microseconds=micros_)


def identity(digits: str) -> UUID:
    """An id from its hexadecimal digits."""
    return uuid_of(int(digits, 16))


def dump(batch: Any) -> str:
    """A batch as one bound value."""
    return json.dumps(batch, separators=(",", ":"), ensure_ascii=False)


def retry_text(policy: RetryPolicy) -> str | None:
    """A retry policy as text; the default takes no room."""
    if policy is DEFAULT_RETRY or policy == DEFAULT_RETRY:
        return None
    return dump([policy.max_retries, policy.kind, micros(policy.initial), micros(policy.maximum), policy.jitter])


@lru_cache(maxsize=1024)
def retry_policy(text: str | None) -> RetryPolicy:
    """A retry policy from its text; jobs share few of them."""
    if text is None:
        return DEFAULT_RETRY
    retries, kind, initial, maximum, jitter = json.loads(text)
    return RetryPolicy(
        max_retries=retries,
        kind=Backoff(kind),
        initial=duration(initial),
        maximum=duration(maximum),
        jitter=jitter,
    )


def task_fields(task: Task) -> list[Any]:
    """A task in the order of the columns that stand for one."""
    return [
        task.handler,
        task.lane,
        task.priority,
        micros(task.timeout),
        with_trace(retry_text(task.retry), task.trace),
        task.payload.hex(),
        task.blob,
    ]


def task_from(fields: list[Any]) -> Task:
    """A task from the last columns of a fragment."""
    handler, lane, priority, timeout, kept, payload, blob = fields
    retry, trace = without_trace(kept)
    return Task(
        handler=handler,
        lane=home_lane(lane),
        priority=priority,
        timeout=duration(timeout),
        retry=retry_policy(retry),
        payload=bytes.fromhex(payload),
        blob=None if blob is None else BlobId(blob),
        trace=trace,
    )


def attempt_from(fields: list[Any]) -> Attempt:
    """A run in somebody's hands from the fragment `attempt`."""
    run_id, job_id, session, fence, attempt, failures, losses, due_at, started_at = fields[:9]
    owner, project, log, cancel, worker = fields[9:14]
    own = identity(run_id)
    return Attempt(
        run_id=RunId(own),
        job_id=JobId(own if job_id == _OWN_ID else identity(job_id)),
        session=SessionId(session),
        fence=Fence(fence),
        attempt=attempt,
        failures=failures,
        losses=losses,
        due_at=to_instant(due_at),
        started_at=to_instant(started_at),
        owner=owner,
        project=project,
        worker=worker,
        task=task_from(fields[14:]),
        log=log.encode(),
        cancelling=cancel is not None,
        suspect=is_for_suspects(fields[15]),
    )


def job_from(fields: list[Any]) -> Job:
    """A standing job from the fragment `job`."""
    (
        job_id,
        owner,
        project,
        name,
        key,
        state,
        version,
        terms,
        created_at,
        updated_at,
        next_fire_at,
        wake_at,
        active,
    ) = fields[:13]
    return Job(
        id=JobId(identity(job_id)),
        owner=owner,
        project=project,
        name=name,
        key=key,
        state=JobState(state),
        version=Version(version),
        terms=Terms.from_json(bytes.fromhex(terms)),
        created_at=to_instant(created_at),
        updated_at=to_instant(updated_at),
        next_fire_at=to_instant_or_none(next_fire_at),
        wake_at=to_instant_or_none(wake_at),
        active_run=None if not active else RunId(identity(active)),
        task=task_from(fields[13:]),
    )


def run_from(fields: list[Any]) -> Run:
    """A run, live or ended, from the fragments `live_run` and `ended_run`."""
    (
        run_id,
        job_id,
        origin,
        owner,
        project,
        name,
        key,
        spec,
        state,
        created_at,
        version,
        due_at,
        wake_at,
        fence,
        attempt,
    ) = fields[:15]
    (failures, losses, worker, started_at, finished_at, cancel, result, result_blob, error, reason) = fields[15:25]
    skipped_to, skipped_count, log = fields[25:28]
    held = wake_at is None or wake_at >= HELD
    return Run(
        id=RunId(identity(run_id)),
        job_id=JobId(identity(job_id)),
        origin=None if not origin else RunId(identity(origin)),
        owner=owner,
        project=project,
        name=name,
        key=key,
        spec=None if spec is None else bytes.fromhex(spec),
        task=task_from(fields[28:]),
        state=State(state),
        created_at=to_instant(created_at),
        version=Version(version),
        due_at=to_instant(due_at),
        wake_at=None if held else to_instant(wake_at),
        fence=Fence(fence),
        attempt=attempt,
        failures=failures,
        losses=losses,
        worker=worker,
        started_at=to_instant_or_none(started_at),
        finished_at=to_instant_or_none(finished_at),
        cancelling=cancel is not None,
        result=None if result is None else bytes.fromhex(result),
        result_blob=None if result_blob is None else BlobId(result_blob),
        error=error,
        reason=reason,
        skipped_to=to_instant_or_none(skipped_to),
        skipped_count=skipped_count,
        log=log.encode(),
        suspect=is_for_suspects(fields[29]),
    )
