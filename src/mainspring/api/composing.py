"""What to store for a request: one-shot jobs become a run, the others a standing job. Pure: no clock, no store."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

from mainspring.api.requests import JobRequest
from mainspring.domain.ids import BlobId, Lane, RunId, new_job_id
from mainspring.domain.job import CatchUp, Job, Misfire, NewJob, Overlap, Terms
from mainspring.domain.reschedule import scheduled, started
from mainspring.domain.retry import Backoff, RetryPolicy
from mainspring.domain.run import Key, NewRun
from mainspring.domain.schedule import After, At, DaylightSaving, Fold, Gap, Now, OnDemand, parse
from mainspring.domain.task import Task
from mainspring.errors import Invalid, InvalidSchedule

_PLAIN = Terms(schedule="now")
_REMEMBERED = 1024
"""Jobs that are submitted in numbers are alike, and reading a schedule takes longer than looking it up."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The terms of a request and what follows from them."""

    terms: Terms
    due: datetime | timedelta | None
    """When a one-shot job runs; None for a standing one."""
    spec: bytes | None
    """The text that a one-shot's row keeps; None if it has nothing to say."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What jobs that are alike have in common: everything but payload and key."""

    request: JobRequest
    timing: Timing
    timeout: timedelta
    retry: RetryPolicy

    @classmethod
    def of(cls, request: JobRequest) -> "Pattern":
        """The pattern of *request*; InvalidSchedule or Invalid if it makes no sense."""
        return cls(request, timing_of(request), timedelta(milliseconds=request.timeout_ms), _retry_of(request))

    def task(self, payload: bytes, lane: Lane, trace: str | None = None) -> Task:
        """What to execute, with the payload inline."""
        request = self.request
        return Task(
            handler=request.handler,
            payload=payload,
            lane=lane,
            priority=request.priority,
            timeout=self.timeout,
            retry=self.retry,
            trace=trace,
        )


def compose(
    pattern: Pattern,
    *,
    payload: bytes,
    owner: str,
    key: Key | None,
    lane: Lane,
    now: datetime,
    random_bits: int,
    at_start: bool = False,
    trace: str | None = None,
) -> NewRun | NewJob:
    """What to store, with the payload inline.

    A standing job begins with its schedule's first moment, or *at_start* with its start. A one-shot goes on with
    *trace*; the runs of a standing job have traces of their own.
    """
    request, timing = pattern.request, pattern.timing
    identity = new_job_id(now, random_bits)
    if timing.due is None:
        job = Job(
            id=identity,
            task=pattern.task(payload, lane),
            created_at=now,
            updated_at=now,
            owner=owner,
            project=request.project_id,
            name=request.name,
            key=None if key is None else key.text,
            terms=timing.terms,
        )
        return NewJob(job=started(job, now) if at_start else scheduled(job, now), key=key)
    return NewRun(
        id=RunId(identity),
        job_id=identity,
        task=pattern.task(payload, lane, trace),
        due=timing.due,
        owner=owner,
        project=request.project_id,
        key=key,
        name=request.name,
        spec=timing.spec,
    )


def with_blob(item: NewRun | NewJob, blob: BlobId) -> NewRun | NewJob:
    """The same with its payload in *blob*."""
    if isinstance(item, NewRun):
        return replace(item, task=replace(item.task, payload=b"", blob=blob))
    return replace(item, job=replace(item.job, task=replace(item.job.task, payload=b"", blob=blob)))


def timing_of(request: JobRequest) -> Timing:
    """When to execute it."""
    return _timing(
        description=request.description,
        schedule="now" if request.schedule is None else " ".join(request.schedule.split()),
        timezone=request.timezone,
        misfire=(request.misfire.grace_ms, request.misfire.policy),
        overlap=request.overlap,
        dst=(request.dst.gap, request.dst.fold),
        allow_unknown_handler=request.allow_unknown_handler,
        starts_at=request.starts_at,
    )


def _retry_of(request: JobRequest) -> RetryPolicy:
    retry = request.retry
    return _retry(request.max_retries, retry.kind, retry.initial_ms, retry.max_ms, retry.jitter)


@lru_cache(maxsize=_REMEMBERED)
def _retry(max_retries: int, kind: str, initial_ms: int, max_ms: int, jitter: float) -> RetryPolicy:
    return RetryPolicy(
        max_retries=max_retries,
        kind=Backoff(kind),
        initial=timedelta(milliseconds=initial_ms),
        maximum=timedelta(milliseconds=max_ms),
        jitter=jitter,
    )


@lru_cache(maxsize=_REMEMBERED)
def _timing(
    *,
    description: str,
    schedule: str,
    timezone: str,
    misfire: tuple[int, str],
    overlap: str,
    dst: tuple[str, str],
    allow_unknown_handler: bool,
    starts_at: str | None,
) -> Timing:
    terms = Terms(
        description=description,
        schedule=schedule,
        timezone=timezone,
        misfire=Misfire(grace=timedelta(milliseconds=misfire[0]), policy=CatchUp(misfire[1])),
        overlap=Overlap(overlap),
        dst=DaylightSaving(gap=Gap(dst[0]), fold=Fold(dst[1])),
        allow_unknown_handler=allow_unknown_handler,
    )
    if starts_at is not None:
        terms = replace(terms, starts_at=_start(starts_at, terms))
    return Timing(terms, _due(terms), None if terms == _PLAIN else terms.to_json())


def _start(text: str, terms: Terms) -> datetime:
    if isinstance(terms.parsed(), Now | OnDemand | At | After):
        raise Invalid("starts_at belongs to a recurring schedule; write the instant as the schedule", field="starts_at")
    try:
        start = parse(text)
    except InvalidSchedule:
        start = Now()
    if not isinstance(start, At):
        raise Invalid("starts_at must be an instant like 2030-01-31T09:00:00Z", field="starts_at")
    return start.instant


def _due(terms: Terms) -> datetime | timedelta | None:
    match terms.parsed():
        case Now():
            return timedelta(0)
        case At(instant=instant):
            return instant
        case After(delay=delay):
            return delay
        case _:
            return None
