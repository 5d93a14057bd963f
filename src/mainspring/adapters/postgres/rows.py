"""Between values and rows: the driver knows instants, durations, bytes and ids; this is what lies above them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg

from mainspring.adapters.carried import with_trace, without_trace
from mainspring.domain.ids import (
    DEFAULT_OWNER,
    DEFAULT_PROJECT,
    BlobId,
    Fence,
    JobId,
    Lane,
    RunId,
    SessionId,
    Version,
)
from mainspring.domain.job import Job, JobState, Terms
from mainspring.domain.retry import DEFAULT_RETRY, Backoff, RetryPolicy
from mainspring.domain.run import Attempt, Run, State
from mainspring.domain.suspects import home_lane, is_for_suspects
from mainspring.domain.task import Task

Row: TypeAlias = "Sequence[Any] | asyncpg.Record"
"""Columns in the order of a fragment of `statements/fragments.sql`."""

_MICROSECOND = timedelta(microseconds=1)
_COMMON_TIMEOUT = timedelta(minutes=5)
"""What a null in the fragment `handed_over` stands for, whatever jobs get that don't name one."""
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def text(value: str | None) -> str | None:
    """Text as PostgreSQL takes it: it knows no NUL."""
    return None if value is None else value.replace("\0", "\\0")


def instant(value: datetime | None) -> datetime | None:
    """An instant as the driver takes it: the first and the last that Python knows would be infinities."""
    if value == _LAST:
        return _LAST - _MICROSECOND
    return _FIRST + _MICROSECOND if value == _FIRST else value


def retry_text(policy: RetryPolicy) -> str | None:
    """A retry policy as text; the default takes no room."""
    if policy is DEFAULT_RETRY or policy == DEFAULT_RETRY:
        return None
    initial, maximum = policy.initial // _MICROSECOND, policy.maximum // _MICROSECOND
    return json.dumps([policy.max_retries, policy.kind, initial, maximum, policy.jitter], separators=(",", ":"))


@lru_cache(maxsize=1024)
def retry_policy(text_: str | None) -> RetryPolicy:
    """A retry policy from its text; jobs share few of them."""
    if text_ is None:
        return DEFAULT_RETRY
    retries, kind, initial, maximum, jitter = json.loads(text_)
    return RetryPolicy(
        max_retries=retries,
        kind=Backoff(kind),
        initial=timedelta(microseconds=initial),
        maximum=timedelta(microseconds=maximum),
        jitter=jitter,
    )


def kept_retry(task: Task) -> str | None:
    """The column retry: the policy, and behind it the trace."""
    return with_trace(retry_text(task.retry), task.trace)


def task_fields(task: Task) -> list[Any]:
    """A task in the order of the columns handler, lane, priority, timeout, retry, payload, blob."""
    return [task.handler, task.lane, task.priority, task.timeout, kept_retry(task), task.payload, task.blob]


def task_from(row: Row) -> Task:
    """A task from the last columns of a fragment."""
    handler, lane, priority, timeout, kept, payload, blob = row
    retry, trace = without_trace(kept)
    return Task(
        handler=handler,
        lane=home_lane(lane),
        priority=priority,
        timeout=timeout,
        retry=retry_policy(retry),
        payload=payload,
        blob=None if blob is None else BlobId(blob),
        trace=trace,
    )


def attempt_from(row: Row) -> Attempt:
    """A run in somebody's hands from the fragment `attempt`."""
    run_id, job_id, session, fence, attempt, failures, losses, due_at, started_at = row[:9]
    owner, project, log, cancelling, worker = row[9:14]
    return Attempt(
        run_id=RunId(run_id),
        job_id=JobId(run_id if job_id is None else job_id),
        session=SessionId(session),
        fence=Fence(fence),
        attempt=attempt,
        failures=failures,
        losses=losses,
        due_at=due_at,
        started_at=started_at,
        owner=owner,
        project=project,
        worker=worker,
        task=task_from(row[14:21]),
        log=log,
        cancelling=cancelling,
        suspect=is_for_suspects(row[15]),
    )


def handed_over_from(row: Row, session: SessionId, worker: str, started_at: datetime, lane: Lane) -> Attempt:
    """A run that *worker* has just claimed, in *lane* unless the row says another, from the fragment `handed_over`."""
    run_id, job_id, fence, attempt, failures, losses, due_at, _, timeout, cancelling, owner, project, log = row[:13]
    handler, priority, kept, payload, blob, other_lane = row[13:]
    retry, trace = (None, None) if kept is None else without_trace(kept)
    waited_in = lane if other_lane is None else other_lane
    return Attempt(
        run_id=run_id,
        job_id=run_id if job_id is None else job_id,
        session=session,
        fence=fence,
        attempt=attempt,
        failures=failures,
        losses=losses,
        due_at=due_at,
        started_at=started_at,
        owner=DEFAULT_OWNER if owner is None else owner,
        project=DEFAULT_PROJECT if project is None else project,
        worker=worker,
        task=Task(
            handler=handler,
            lane=home_lane(waited_in),
            priority=priority,
            timeout=_COMMON_TIMEOUT if timeout is None else timeout,
            retry=DEFAULT_RETRY if retry is None else retry_policy(retry),
            payload=payload,
            blob=blob,
            trace=trace,
        ),
        log=b"" if log is None else log,
        cancelling=cancelling is not None,
        suspect=is_for_suspects(waited_in),
    )


def job_from(row: Row) -> Job:
    """A standing job from the fragment `job`."""
    job_id, owner, project, name, key, state, version, terms, created_at, updated_at = row[:10]
    next_fire_at, wake_at, active = row[10:13]
    return Job(
        id=JobId(job_id),
        owner=owner,
        project=project,
        name=name,
        key=key,
        state=JobState(state),
        version=Version(version),
        terms=Terms.from_json(terms),
        created_at=created_at,
        updated_at=updated_at,
        next_fire_at=next_fire_at,
        wake_at=wake_at,
        active_run=_run_id(active),
        task=task_from(row[13:]),
    )


def run_from(row: Row) -> Run:
    """A run, live or ended, from the fragments `live_run` and `ended_run`."""
    run_id, job_id, origin, owner, project, name, key, spec, state, created_at, version, due_at, wake_at = row[:13]
    fence, attempt, failures, losses, worker, started_at, finished_at, cancelling = row[13:21]
    result, result_blob, error, reason, skipped_to, skipped_count, log = row[21:28]
    return Run(
        id=RunId(run_id),
        job_id=JobId(job_id),
        origin=_run_id(origin),
        owner=owner,
        project=project,
        name=name,
        key=key,
        spec=spec,
        task=task_from(row[28:]),
        state=State(state),
        created_at=created_at,
        version=Version(version),
        due_at=due_at,
        wake_at=wake_at,
        fence=Fence(fence),
        attempt=attempt,
        failures=failures,
        losses=losses,
        worker=worker,
        started_at=started_at,
        finished_at=finished_at,
        cancelling=cancelling,
        result=result,
        result_blob=None if result_blob is None else BlobId(result_blob),
        error=error,
        reason=reason,
        skipped_to=skipped_to,
        skipped_count=skipped_count,
        log=log,
        suspect=is_for_suspects(row[29]),
    )


def _run_id(value: UUID | None) -> RunId | None:
    return None if value is None else RunId(value)
