"""Values as short text for traces: ids by their last digits, only what tells one step from another."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from mainspring.domain.job import Job, NewJob
from mainspring.domain.outcome import Verdict
from mainspring.domain.plan import Advance, DueJob, Skip
from mainspring.domain.run import Attempt, NewRun
from mainspring.domain.ticket import Ticket
from mainspring.ports.journal import Began, Finished, Opened
from mainspring.ports.sessions import Heard, NewSession
from mainspring.ports.timetable import Due
from mainspring.ports.work import Added, Claim, Steered


def briefly(value: Any) -> str:
    """The value as short text; equal values give equal text, whatever the process."""
    short = _SHORT.get(type(value))
    if short is not None:
        return short(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, (tuple, list)):
        return "[" + " ".join(map(briefly, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + " ".join(f"{briefly(key)}:{briefly(each)}" for key, each in value.items()) + "}"
    if isinstance(value, BaseException):
        return type(value).__name__
    return str(value) if isinstance(value, (int, float, str, bool)) or value is None else type(value).__name__


def _id(value: UUID) -> str:
    return value.hex[-6:]


def _verdict(value: Verdict) -> str:
    lost = "" if value.session is None else f"@{value.session}"
    later = f"+{value.delay.total_seconds():g}" if value.delay else ""
    return f"{_id(value.run_id)}/{value.fence}{lost}={value.state.name.lower()}{later}#{value.failures},{value.losses}"


def _advance(value: Advance) -> str:
    runs = " ".join(_id(run.id) for run in value.runs)
    moves = f"{_moment(value.expected_fire_at)}→{_moment(value.next_fire_at)}"
    return f"{_id(value.job_id)}v{value.expected_version}@{moves}({runs})"


def _moment(value: datetime | None) -> str:
    return "never" if value is None else value.strftime("%M:%S.%f")[:-3]


def _job(value: Job) -> str:
    return f"{_id(value.id)}v{value.version} {value.state.name.lower()} next={_moment(value.next_fire_at)}"


def _due(value: Due) -> str:
    return f"{len(value.jobs)} jobs, next in {briefly(value.next_in)}"


_SHORT: dict[type, Callable[[Any], str]] = {
    UUID: _id,
    datetime: _moment,
    timedelta: lambda value: f"{value.total_seconds():g}s",
    Verdict: _verdict,
    Advance: _advance,
    Job: _job,
    DueJob: lambda value: _job(value.job),
    NewJob: lambda value: f"job {_job(value.job)} {value.job.terms.schedule} {value.job.terms.overlap}",
    NewRun: lambda value: f"run {_id(value.id)} due {briefly(value.due)} key {value.key.text if value.key else None}",
    Skip: lambda value: f"{_moment(value.first)}…{_moment(value.last)} {value.reason}",
    Attempt: lambda value: f"{_id(value.run_id)}/{value.fence}",
    Ticket: lambda value: f"{_id(value.run_id)}/{value.fence}",
    Began: lambda value: f"began {_id(value.run_id)}/{value.fence}",
    Finished: lambda value: f"finished {_verdict(value.verdict)}",
    Opened: lambda value: f"opened {value.session}",
    Heard: lambda value: briefly(value.held),
    Due: _due,
    Claim: lambda value: f"{briefly(value.attempts)} next in {briefly(value.next_in)}",
    Added: lambda value: f"{value.kind} {_id(value.id)}",
    Steered: lambda value: str(value.effect),
    NewSession: lambda value: value.name,
}
