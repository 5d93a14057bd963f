"""From requests to stored jobs. Knows nothing of HTTP, so that every door submits by the same rules."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mainspring.api.coalescer import Coalescer
from mainspring.api.composing import compose, with_blob
from mainspring.api.document import Members, read_object
from mainspring.api.lanes import Lanes
from mainspring.api.requests import InvalidFields, JobRequest, read_request
from mainspring.api.stored import stored_record
from mainspring.domain.ids import DEFAULT_OWNER, RANDOM_BITS, JobId, Lane
from mainspring.domain.job import NewJob
from mainspring.domain.run import Key, NewRun
from mainspring.errors import Invalid, KeyConflict
from mainspring.ports.blobs import Blobs
from mainspring.ports.time import Clock, Random
from mainspring.ports.views import JobRecord, Views
from mainspring.ports.work import Added, Addition, Work

MAX_INLINE = 4096
"""Longer payloads lie in a blob, out of the way of claims."""
MAX_FAULTS = 20
"""How many faults of a batch are told at once."""
_AT_ONCE = 100
"""How many of a batch are worked on before others get a turn, and how many reads are under way at a time."""

Item = NewRun | NewJob


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
        return cls.of(read_object(body), owner=owner, key=key)

    @classmethod
    def of(cls, members: Members, *, owner: str | None = None, key: str | None = None) -> "Submission":
        """The same from an object that was read."""
        request = read_request({name: member.value for name, member in members.items()})
        return cls(
            request=request,
            payload=members["payload"].text.encode() if "payload" in members else b"null",
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
    """The job as it is stored, its payload's text (None where that wasn't looked up), and whether it is new."""

    record: JobRecord
    payload: bytes | None
    created: bool

    @property
    def id(self) -> JobId:
        """The job's id."""
        return self.record.job.id


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
        self._lanes = Lanes(views, clock, builtin)
        self._adding = Coalescer[Item, Added](work.add)

    async def submit(self, submission: Submission) -> Submitted:
        """Store it once; a repeated key answers with the first job, or raises KeyConflict for another body."""
        lane = await self._lanes.of(submission.request)
        item = await self._with_payload_aside(submission, self._composed(submission, lane))
        added = await self._adding.put(item)
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(_conflict(submission, added))
        return _created(submission, item, added) or await self._existing(submission, added)

    async def submit_all(self, batch: Sequence[Members], owner: str | None) -> Sequence[Submitted]:
        """Store all or nothing, answered in their order; InvalidFields names what is wrong by its index."""
        submissions, items = await self._validated(batch, owner)
        items = [await self._with_payload_aside(*each) for each in zip(submissions, items, strict=True)]
        answers = await self._work.add(items, together=True)
        for index, (submission, added) in enumerate(zip(submissions, answers, strict=True)):
            if added.kind is Addition.CONFLICT:
                raise KeyConflict(f"jobs.{index}: {_conflict(submission, added)}; nothing was stored")
        return await self._all_submitted(submissions, items, answers)

    async def _validated(self, batch: Sequence[Members], owner: str | None) -> tuple[list[Submission], list[Item]]:
        submissions: list[Submission] = []
        items: list[Item] = []
        faults: dict[str, str] = {}
        for index, members in enumerate(batch):
            try:
                submission = Submission.of(members, owner=owner)
                items.append(self._composed(submission, await self._lanes.of(submission.request)))
                submissions.append(submission)
            except Invalid as error:
                faults.update(_faults(index, error))
            if len(faults) >= MAX_FAULTS:
                break
            if index % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
        if faults:
            raise InvalidFields(faults)
        return submissions, items

    async def _all_submitted(
        self, submissions: Sequence[Submission], items: Sequence[Item], answers: Sequence[Added]
    ) -> Sequence[Submitted]:
        found: list[Submitted] = []
        for start in range(0, len(items), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            rows = zip(submissions[part], items[part], answers[part], strict=True)
            known = [(submission, _created(submission, item, added), added) for submission, item, added in rows]
            missing = [self._existing(submission, added) for submission, created, added in known if created is None]
            looked_up = iter(await asyncio.gather(*missing))
            found.extend(created or next(looked_up) for _, created, _ in known)
        return found

    def _composed(self, submission: Submission, lane: Lane) -> Item:
        key = None if submission.key is None else Key(text=submission.key, body=submission.digest)
        return compose(
            submission.request,
            payload=submission.payload,
            owner=submission.owner,
            key=key,
            lane=lane,
            now=self._clock.now(),
            random_bits=self._random.bits(RANDOM_BITS),
        )

    async def _with_payload_aside(self, submission: Submission, item: Item) -> Item:
        if len(submission.payload) <= MAX_INLINE:
            return item
        return with_blob(item, await self._blobs.put(submission.payload))

    async def _existing(self, submission: Submission, added: Added) -> Submitted:
        record = await self._views.job(JobId(added.id))
        if record is None:
            raise KeyConflict(
                f"the key {submission.key!r} belongs to job {added.id}, which was deleted; choose another"
            )
        task = record.job.task
        payload = task.payload if task.blob is None else await self._blobs.get(task.blob)
        return Submitted(record, payload, created=added.kind is Addition.CREATED)


def _created(submission: Submission, item: Item, added: Added) -> Submitted | None:
    """The answer for a new job, if the store said enough to give it."""
    if added.kind is not Addition.CREATED or added.at is None:
        return None
    return Submitted(stored_record(item, added.at), submission.payload, created=True)


def _conflict(submission: Submission, added: Added) -> str:
    return f"the key {submission.key!r} was used for another body, by job {added.id}; choose another key"


def _faults(index: int, error: Invalid) -> Mapping[str, str]:
    if isinstance(error, InvalidFields):
        return {f"jobs.{index}.{field}": fault for field, fault in error.faults.items()}
    return {f"jobs.{index}.{error.field or 'body'}": str(error)}


def _agreed(field: str, inside: str | None, beside: str | None) -> str | None:
    if inside is not None and beside is not None and inside != beside:
        raise Invalid(f"the body says {field} {inside!r}, the header {beside!r}; send one of them", field=field)
    return inside if beside is None else beside
