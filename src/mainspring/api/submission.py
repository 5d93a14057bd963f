"""From a request to what is stored: one-shot jobs become a run, the others a standing job.

Knows nothing of HTTP, so that every door submits by the same rules.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mainspring.api.document import read_object
from mainspring.api.requests import JobRequest, read_request
from mainspring.domain.ids import DEFAULT_LANE, DEFAULT_OWNER, RANDOM_BITS, BlobId, JobId, Lane, RunId, new_job_id
from mainspring.domain.job import CatchUp, Job, Misfire, NewJob, Overlap, Terms
from mainspring.domain.reschedule import scheduled
from mainspring.domain.retry import Backoff, RetryPolicy
from mainspring.domain.run import Key, NewRun
from mainspring.domain.schedule import After, At, DaylightSaving, Fold, Gap, Now, OnDemand, parse
from mainspring.domain.task import Task
from mainspring.errors import Invalid, InvalidSchedule, KeyConflict, UnknownHandler
from mainspring.ports.blobs import Blobs
from mainspring.ports.time import Clock, Random
from mainspring.ports.views import Views
from mainspring.ports.work import Addition, Work

MAX_INLINE = 4096
"""Longer payloads lie in a blob, out of the way of claims."""
HANDLERS_AGE = 5.0
"""Seconds for which the list of known handlers is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A request with its payload as it was written, and who sent it."""

    request: JobRequest
    payload: bytes
    owner: str
    key: str | None

    @classmethod
    def read(cls, body: bytes, *, owner: str | None = None, key: str | None = None) -> "Submission":
        """From a JSON text, and the owner and key that came beside it; Invalid if it isn't a job."""
        members = read_object(body)
        request = read_request({name: member.value for name, member in members.items()})
        payload = members["payload"].text.encode() if "payload" in members else b"null"
        return cls(
            request=request,
            payload=payload,
            owner=_agreed("owner", request.owner, owner) or DEFAULT_OWNER,
            key=_agreed("key", request.key, key),
        )

    @property
    def digest(self) -> bytes:
        """Equal for bodies that mean the same, however they are written."""
        fields = self.request.model_dump(exclude={"key", "owner"})
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).digest()


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job's id, and whether it is new."""

    id: JobId
    created: bool


def compose(
    submission: Submission, *, lane: Lane, blob: BlobId | None, now: datetime, random_bits: int
) -> NewRun | NewJob:
    """What to store for a submission; *blob* is where the payload lies, if it isn't inline."""
    request = submission.request
    key = None if submission.key is None else Key(text=submission.key, body=submission.digest)
    task = _task(submission, lane, blob)
    terms = _terms(request)
    identity = new_job_id(now, random_bits)
    due = _due(terms)
    if due is None:
        job = Job(
            id=identity,
            task=task,
            created_at=now,
            updated_at=now,
            owner=submission.owner,
            project=request.project_id,
            name=request.name,
            key=submission.key,
            terms=terms,
        )
        return NewJob(job=scheduled(job, now), key=key)
    return NewRun(
        id=RunId(identity),
        job_id=identity,
        task=task,
        due=due,
        owner=submission.owner,
        project=request.project_id,
        key=key,
        name=request.name,
        spec=None if terms == Terms(schedule="now") else terms.to_json(),
    )


class Submissions:
    """Takes jobs in."""

    def __init__(
        self, *, work: Work, views: Views, blobs: Blobs, clock: Clock, random: Random, builtin: Mapping[str, Lane]
    ) -> None:
        self._work = work
        self._views = views
        self._blobs = blobs
        self._clock = clock
        self._random = random
        self._builtin = builtin
        self._registered: Mapping[str, Lane] = {}
        self._registered_at = float("-inf")

    async def submit(self, submission: Submission) -> Submitted:
        """Store it once; a repeated key answers with the first job, or raises KeyConflict for another body."""
        lane = await self._lane(submission.request)
        large = len(submission.payload) > MAX_INLINE
        blob = await self._blobs.put(submission.payload) if large else None
        item = compose(
            submission, lane=lane, blob=blob, now=self._clock.now(), random_bits=self._random.bits(RANDOM_BITS)
        )
        [added] = await self._work.add([item])
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(
                f"the key {submission.key!r} was used for another body, by job {added.id}; choose another key"
            )
        return Submitted(id=JobId(added.id), created=added.kind is Addition.CREATED)

    async def _lane(self, request: JobRequest) -> Lane:
        """The lane that was asked for, or the handler's own; UnknownHandler if nobody ever served it."""
        known = await self._lane_of(request.handler)
        if known is None and not request.allow_unknown_handler:
            raise UnknownHandler(request.handler)
        return Lane(request.lane) if request.lane else known or DEFAULT_LANE

    async def _lane_of(self, handler: str) -> Lane | None:
        age = self._clock.monotonic() - self._registered_at
        if age > HANDLERS_AGE or handler not in self._registered:
            self._registered = await self._views.handlers()
            self._registered_at = self._clock.monotonic()
        return self._registered.get(handler) or self._builtin.get(handler)


def _agreed(field: str, inside: str | None, beside: str | None) -> str | None:
    if inside is not None and beside is not None and inside != beside:
        raise Invalid(f"the body says {field} {inside!r}, the header {beside!r}; send one of them", field=field)
    return inside if beside is None else beside


def _task(submission: Submission, lane: Lane, blob: BlobId | None) -> Task:
    request = submission.request
    return Task(
        handler=request.handler,
        payload=b"" if blob else submission.payload,
        blob=blob,
        lane=lane,
        priority=request.priority,
        timeout=timedelta(milliseconds=request.timeout_ms),
        retry=RetryPolicy(
            max_retries=request.max_retries,
            kind=Backoff(request.retry.kind),
            initial=timedelta(milliseconds=request.retry.initial_ms),
            maximum=timedelta(milliseconds=request.retry.max_ms),
            jitter=request.retry.jitter,
        ),
    )


def _terms(request: JobRequest) -> Terms:
    misfire = Misfire(grace=timedelta(milliseconds=request.misfire.grace_ms), policy=CatchUp(request.misfire.policy))
    terms = Terms(
        description=request.description,
        schedule=" ".join((request.schedule or "").split()) or "now",
        timezone=request.timezone,
        misfire=misfire,
        overlap=Overlap(request.overlap),
        dst=DaylightSaving(gap=Gap(request.dst.gap), fold=Fold(request.dst.fold)),
        allow_unknown_handler=request.allow_unknown_handler,
    )
    return terms if request.starts_at is None else replace(terms, starts_at=_start(request.starts_at, terms))


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
    """When a one-shot job runs; None for a standing one."""
    match terms.parsed():
        case Now():
            return timedelta(0)
        case At(instant=instant):
            return instant
        case After(delay=delay):
            return delay
        case _:
            return None
