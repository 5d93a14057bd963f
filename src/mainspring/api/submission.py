"""From requests to stored jobs. Knows nothing of HTTP, so that every door submits by the same rules."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mainspring.api.coalescer import Coalescer
from mainspring.api.composing import compose, with_blob
from mainspring.api.document import Document, read_object, write_json
from mainspring.api.lanes import Lanes
from mainspring.api.rendering import stored_text
from mainspring.api.representation import shown_job
from mainspring.api.requests import InvalidFields, JobRequest, read_request
from mainspring.domain.ids import DEFAULT_OWNER, RANDOM_BITS, JobId, Lane
from mainspring.domain.job import NewJob
from mainspring.domain.run import Key, NewRun
from mainspring.errors import Invalid, KeyConflict
from mainspring.ports.blobs import Blobs
from mainspring.ports.time import Clock, Random
from mainspring.ports.views import Views
from mainspring.ports.work import Added, Addition, Work

MAX_INLINE = 4096
"""Longer payloads lie in a blob, out of the way of claims."""
MAX_FAULTS = 20
"""How many faults of a batch are told at once."""
_AT_ONCE = 100
"""How many of a batch are worked on before others get a turn, and how many reads are under way at a time."""

Item = NewRun | NewJob


@dataclass(frozen=True, slots=True)
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
    def of(cls, document: Document, *, owner: str | None = None, key: str | None = None) -> "Submission":
        """The same from an object that was read."""
        request = read_request(document.fields)
        return cls(
            request,
            b"null" if document.payload is None else document.payload,
            _agreed("owner", request.owner, owner) or DEFAULT_OWNER,
            _agreed("key", request.key, key),
        )

    @property
    def digest(self) -> bytes:
        """Equal for bodies that mean the same, however they are written."""
        fields = self.request.model_dump(exclude={"key", "owner"})
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).digest()


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that is stored, and whether it is new."""

    id: JobId
    owner: str
    version: int
    text: bytes
    """The whole job as the wire shows it."""
    created: bool


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
        lane = self._lanes.at_hand(submission.request) or await self._lanes.of(submission.request)
        item = await self._with_payload_aside(submission, self._composed(submission, lane))
        added = await self._adding.put(item)
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(_conflict(submission, added))
        return _created(submission, item, added) or await self._existing(submission, added)

    async def submit_all(self, batch: Sequence[Document], owner: str | None) -> Sequence[Submitted]:
        """Store all or nothing, answered in their order; InvalidFields names what is wrong by its index."""
        submissions, items = await self._validated(batch, owner)
        for index, submission in enumerate(submissions):
            if len(submission.payload) > MAX_INLINE:
                items[index] = await self._with_payload_aside(submission, items[index])
        answers = await self._work.add(items, together=True)
        for index, (submission, added) in enumerate(zip(submissions, answers, strict=True)):
            if added.kind is Addition.CONFLICT:
                raise KeyConflict(f"jobs.{index}: {_conflict(submission, added)}; nothing was stored")
        return await self._all_submitted(submissions, items, answers)

    async def _validated(self, batch: Sequence[Document], owner: str | None) -> tuple[list[Submission], list[Item]]:
        submissions: list[Submission] = []
        items: list[Item] = []
        faults: dict[str, str] = {}
        for index, document in enumerate(batch):
            try:
                submission = Submission.of(document, owner=owner)
                lane = self._lanes.at_hand(submission.request) or await self._lanes.of(submission.request)
                items.append(self._composed(submission, lane))
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
            known = list(map(_created, submissions[part], items[part], answers[part]))
            missing = [index for index, created in enumerate(known, start) if created is None]
            asked = [self._existing(submissions[index], answers[index]) for index in missing]
            looked_up = iter(await asyncio.gather(*asked))
            found.extend(created or next(looked_up) for created in known)
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
                f"the key {submission.key!r} belongs to job {added.id}, which was deleted; choose another key"
            )
        job = record.job
        payload = job.task.payload if job.task.blob is None else await self._blobs.get(job.task.blob)
        text = write_json(shown_job(record, payload))
        return Submitted(job.id, job.owner, job.version, text, added.kind is Addition.CREATED)


def _created(submission: Submission, item: Item, added: Added) -> Submitted | None:
    """The answer for a new job, if the store said enough to give it."""
    if added.kind is not Addition.CREATED or added.at is None:
        return None
    text = stored_text(item, added.at, submission.payload)
    return Submitted(JobId(added.id), submission.owner, 1, text, created=True)


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
