"""Between rows and values: runs, attempts and what they execute."""

import json
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any, cast

from mainspring.adapters.carried import with_trace, without_trace
from mainspring.adapters.cassandra.layout import home_of, instant, micros, span_of
from mainspring.adapters.cassandra.rows import Row, Value
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import BlobId, Fence, JobId, RunId, SessionId, Version
from mainspring.domain.retry import DEFAULT_RETRY, Backoff, RetryPolicy
from mainspring.domain.run import Attempt, NewRun, Origin, Run, State
from mainspring.domain.suspects import home_lane, is_for_suspects
from mainspring.domain.task import Task

_MICROSECOND = timedelta(microseconds=1)
_STATES = {int(state): state for state in State}
_ORIGINS = {int(origin): origin for origin in Origin}
"""Looked up: to call an enumeration takes ten times as long."""


def task_columns(task: Task) -> dict[str, Value]:
    """A task as the columns of a run or a job."""
    return {
        "handler": task.handler,
        "lane": task.lane,
        "priority": task.priority,
        "timeout": span_of(task.timeout),
        "retry": with_trace(_retry_text(task.retry), task.trace),
        "payload": task.payload,
        "blob": task.blob,
    }


def task_of(row: Row) -> Task:
    """The task that a run or a job executes."""
    columns = _columns(row)
    blob = columns["blob"]
    retry, trace = without_trace(columns["retry"])
    return Task(
        handler=columns["handler"],
        lane=home_lane(columns["lane"]),
        priority=columns["priority"],
        timeout=columns["timeout"] * _MICROSECOND,
        retry=_retry_policy(retry),
        payload=columns["payload"] or b"",
        blob=None if blob is None else BlobId(blob),
        trace=trace,
    )


def new_row(new: NewRun, *, kind: Origin, now: int) -> dict[str, Value]:
    """The original row of a run that waits, by the time of whoever accepted it."""
    shard, slot = home_of(new.id)
    due_at = now + span_of(new.due) if isinstance(new.due, timedelta) else micros(new.due)
    return {
        "shard": shard,
        "slot": slot,
        "id": new.id,
        "job_id": new.job_id,
        "origin": new.origin,
        "owner": new.owner,
        "project": new.project,
        "key": None if new.key is None else new.key.text,
        "kind": int(kind),
        "created_at": now,
        **task_columns(new.task),
        "name": new.name or None,
        "spec": new.spec,
        "due_at": due_at,
        "state": int(State.WAITING),
        "wake_at": due_at,
        "version": 1,
        "fence": 0,
        "attempt": 0,
        "failures": 0,
        "losses": 0,
    }


def run_of(row: Row) -> Run:
    """All that is known about a run."""
    columns = _columns(row)
    state = State(columns["state"])
    return Run(
        id=RunId(columns["id"]),
        job_id=JobId(columns["job_id"]),
        origin=None if columns["origin"] is None else RunId(columns["origin"]),
        owner=columns["owner"],
        project=columns["project"],
        name=columns["name"] or "",
        key=columns["key"],
        spec=columns["spec"],
        task=task_of(row),
        state=state,
        created_at=instant(columns["created_at"]),
        version=Version(columns["version"]),
        due_at=instant(columns["due_at"]),
        wake_at=_instant_or_none(_wake(columns, state)),
        fence=Fence(columns["fence"]),
        attempt=columns["attempt"],
        failures=columns["failures"],
        losses=columns["losses"],
        worker=columns["worker"],
        started_at=_instant_or_none(columns["started_at"]),
        finished_at=_instant_or_none(columns["finished_at"]),
        cancelling=state is State.RUNNING and columns["cancel"] is not None,
        result=columns["result"],
        result_blob=None if columns["result_blob"] is None else BlobId(columns["result_blob"]),
        error=columns["error"],
        reason=columns["reason"],
        skipped_to=_instant_or_none(columns["skipped_to"]),
        skipped_count=columns["skipped_count"],
        log=columns["log"] or b"",
        suspect=is_for_suspects(columns["lane"]),
    )


def attempt_of(row: Row) -> Attempt:
    """A run that is in somebody's hands."""
    columns = _columns(row)
    return Attempt(
        run_id=RunId(columns["id"]),
        job_id=JobId(columns["job_id"]),
        session=SessionId(columns["session"]),
        fence=Fence(columns["fence"]),
        attempt=columns["attempt"],
        failures=columns["failures"],
        losses=columns["losses"],
        due_at=instant(columns["due_at"]),
        started_at=instant(columns["started_at"]),
        owner=columns["owner"],
        project=columns["project"],
        task=task_of(row),
        worker=columns["worker"] or "",
        log=columns["log"] or b"",
        cancelling=columns["cancel"] is not None,
        suspect=is_for_suspects(columns["lane"]),
    )


def state_of(row: Row) -> State:
    """The state of a run's row."""
    return _STATES[number(row, "state")]


def origin_of(row: Row) -> Origin:
    """What a run came from."""
    return _ORIGINS[number(row, "kind")]


def _columns(row: Row) -> Mapping[str, Any]:
    """The schema says what each column holds, and the checker can't know it."""
    return row


def _wake(columns: Mapping[str, Any], state: State) -> int | None:
    if state is State.RUNNING:
        return cast("int", columns["deadline_at"])
    return cast("int | None", columns["wake_at"]) if state is State.WAITING else None


def _instant_or_none(microseconds: int | None) -> Any:
    return None if microseconds is None else instant(microseconds)


def _retry_text(policy: RetryPolicy) -> str | None:
    """The default takes no room."""
    if policy is DEFAULT_RETRY or policy == DEFAULT_RETRY:
        return None
    terms = [policy.max_retries, policy.kind, span_of(policy.initial), span_of(policy.maximum), policy.jitter]
    return json.dumps(terms, separators=(",", ":"))


@lru_cache(maxsize=1024)
def _retry_policy(text: str | None) -> RetryPolicy:
    """Jobs share few of them."""
    if text is None:
        return DEFAULT_RETRY
    retries, kind, initial, maximum, jitter = json.loads(text)
    return RetryPolicy(
        max_retries=retries,
        kind=Backoff(kind),
        initial=initial * _MICROSECOND,
        maximum=maximum * _MICROSECOND,
        jitter=jitter,
    )
