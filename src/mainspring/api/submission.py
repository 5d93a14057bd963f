"""From requests to stored jobs. Knows nothing of HTTP, so that every door submits by the same rules."""

import asyncio
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, NamedTuple

from mainspring.api.coalescer import Coalescer
from mainspring.api.composing import Pattern, compose, with_blob
from mainspring.api.document import Document, read_object, write_json
from mainspring.api.lanes import Lanes
from mainspring.api.patterns import meaning, pattern_of
from mainspring.api.preconditions import HandlerCheck
from mainspring.api.quota import Quota
from mainspring.api.rendering import stored_text
from mainspring.api.representation import shown_job
from mainspring.api.requests import InvalidFields
from mainspring.domain.ids import DEFAULT_LANE, DEFAULT_OWNER, RANDOM_BITS, JobId, Lane
from mainspring.domain.job import NewJob
from mainspring.domain.run import Key, NewRun
from mainspring.errors import HandlerOff, Invalid, KeyConflict
from mainspring.ports.audit import Entry
from mainspring.ports.blobs import Blobs
from mainspring.ports.time import Clock, Random
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.views import Views
from mainspring.ports.work import Added, Addition, Work

MAX_INLINE = 4096
"""Longer payloads lie in a blob, out of the way of claims."""
MAX_FAULTS = 20
"""How many faults of a batch are told at once."""
_AT_ONCE = 25
"""How many of a batch are worked on before others get a turn, and how many reads are under way at a time."""

_LARGE = 1_000
"""From so many on, batches are read one after the other: each is stored while the next is read. Side by side, all would
be read until the last is, and stored while nobody reads."""

Item = NewRun | NewJob
_FRACTION = re.compile(rb"\d[.eE]")
_Text = tuple[bytes, Pattern]
"""What the store needn't say again: a payload, and what the job has in common with others."""


class Submission(NamedTuple):
    """A request with its payload as it was written, and who sent it."""

    pattern: Pattern
    payload: bytes
    value: Any
    """What the payload says."""
    owner: str
    key: str | None
    at_start: bool = False
    """Whether `starts_at` is a moment itself, even where the schedule doesn't say so."""

    @classmethod
    def read(cls, body: bytes, *, owner: str | None = None, key: str | None = None) -> "Submission":
        """From a JSON text, and the owner and key that came beside it; Invalid if it isn't a job."""
        return cls.of(read_object(body), owner=owner, key=key)

    @classmethod
    def of(
        cls, document: Document, *, owner: str | None = None, key: str | None = None, at_start: bool = False
    ) -> "Submission":
        """The same from an object that was read."""
        fields = document.fields
        pattern = pattern_of(fields)
        return cls(
            pattern,
            b"null" if document.payload is None else document.payload,
            fields.get("payload"),
            _agreed("owner", pattern.request.owner, owner) or DEFAULT_OWNER,
            _agreed("key", fields.get("key", pattern.request.key), key),
            at_start,
        )

    def again(self, document: Document) -> "Submission":
        """The same job with the payload of *document*, which is alike."""
        payload = document.payload or b"null"
        return Submission(self.pattern, payload, document.fields["payload"], self.owner, self.key, self.at_start)

    @property
    def digest(self) -> bytes:
        """Equal for bodies that mean the same, however they are written."""
        value = self.value
        if _FRACTION.search(self.payload):
            value = json.loads(self.payload, parse_float=_distinct)
        value = json.dumps(value, sort_keys=True).encode()
        return hashlib.sha256(b"\0".join((meaning(self.pattern), value))).digest()


class Submitted(NamedTuple):
    """A job that is stored, and whether it is new."""

    id: JobId
    owner: str
    version: int
    text: bytes
    """The whole job as the wire shows it."""
    created: bool


Account = Callable[[Submitted], Entry]
"""What the audit says about a new job."""
AccountOfAll = Callable[[str, Sequence[JobId]], Entry]
"""What it says about the new ones among those that came together, and their owner."""


class _Adding:
    """A job on its way into the store."""

    def __init__(self, item: Item, payload: bytes, pattern: Pattern, account: Account | None) -> None:
        self.item = item
        self._payload = payload
        self._pattern = pattern
        self._account = account
        self.submitted: Submitted | None = None
        """What it has become, once the store has taken it as new."""

    def taken(self, added: Added) -> Iterator[Entry]:
        """What is to be noted about it: with the store's answer, and before anybody else has that."""
        self.submitted = _created(self.item, self._payload, self._pattern, added)
        if self.submitted is not None and self._account is not None:
            yield self._account(self.submitted)


class Submissions:
    """Takes jobs in."""

    def __init__(
        self,
        *,
        work: Work,
        views: Views,
        blobs: Blobs,
        clock: Clock,
        random: Random,
        quota: Quota,
        lanes: Lanes,
        tracing: Tracing = UNTRACED,
    ) -> None:
        self._work = work
        self._views = views
        self._blobs = blobs
        self._clock = clock
        self._random = random
        self._quota = quota
        self._tracing = tracing
        self._lanes = lanes
        self._adding = Coalescer[_Adding, Added](self._add)
        self._reading_much = asyncio.Lock()

    async def submit(
        self, submission: Submission, check_handler: HandlerCheck, account: Account | None = None
    ) -> Submitted:
        """Store it once; a repeated key answers with the first job, or raises KeyConflict for another body."""
        check_handler(submission.pattern.request.handler)
        item = self._composed(submission, await self._lane(submission))
        item = await self._with_payload_aside(item, submission.payload)
        adding = _Adding(item, submission.payload, submission.pattern, account)
        [added] = await self._quota.adding([item], partial(self._put, adding))
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(_conflict(item, added))
        return adding.submitted or await self._existing(item, added)

    async def submit_all(
        self,
        batch: Iterable[Document],
        owner: str | None,
        check_handler: HandlerCheck,
        account: AccountOfAll | None = None,
    ) -> Sequence[Submitted]:
        """Store all or nothing, answered in their order; InvalidFields names what is wrong by its index."""
        items, texts = await self._validated(batch, owner, check_handler)
        for index, (payload, _) in enumerate(texts):
            if len(payload) > MAX_INLINE:
                items[index] = await self._with_payload_aside(items[index], payload)

        def note(answers: Sequence[Added]) -> Sequence[Entry]:
            created = [JobId(added.id) for added in answers if added.kind is Addition.CREATED]
            return [account(_owner(items[0]), created)] if created and account is not None else []

        answers = await self._quota.adding(items, partial(self._work.add, items, together=True, note=note))
        for index, (item, added) in enumerate(zip(items, answers, strict=True)):
            if added.kind is Addition.CONFLICT:
                raise KeyConflict(f"jobs.{index}: {_conflict(item, added)}; nothing was stored")
        return await self._all_submitted(items, texts, answers)

    async def _put(self, adding: _Adding) -> Sequence[Added]:
        return [await self._adding.put(adding)]

    async def _add(self, batch: Sequence[_Adding]) -> Sequence[Added]:
        def note(answers: Sequence[Added]) -> Sequence[Entry]:
            return [entry for adding, added in zip(batch, answers, strict=True) for entry in adding.taken(added)]

        return await self._work.add([adding.item for adding in batch], note=note)

    async def _validated(
        self, batch: Iterable[Document], owner: str | None, check_handler: HandlerCheck
    ) -> tuple[list[Item], list[_Text]]:
        """What to store, and what to answer with; no more than that is kept of what was read."""
        async with AsyncExitStack() as turn:
            return await self._read(batch, owner, check_handler, turn)

    async def _read(
        self, batch: Iterable[Document], owner: str | None, check_handler: HandlerCheck, turn: AsyncExitStack
    ) -> tuple[list[Item], list[_Text]]:
        items: list[Item] = []
        texts: list[_Text] = []
        faults: dict[str, str] = {}
        submission, lane = None, DEFAULT_LANE
        for index, document in enumerate(batch):
            if index == _LARGE:
                await turn.enter_async_context(self._reading_much)
            try:
                if submission is not None and document.alike:
                    submission = submission.again(document)
                else:
                    submission = None  # if this one is refused, the next has nothing to be like
                    read = Submission.of(document, owner=owner)
                    check_handler(read.pattern.request.handler)
                    lane = await self._lane(read)
                    submission = read
                items.append(self._composed(submission, lane))
                texts.append((submission.payload, submission.pattern))
            except Invalid as error:
                faults.update(_faults(index, error))
            if len(faults) >= MAX_FAULTS:
                break
            if index % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
        if faults:
            raise InvalidFields(faults)
        return items, texts

    async def _all_submitted(
        self, items: Sequence[Item], texts: Sequence[_Text], answers: Sequence[Added]
    ) -> Sequence[Submitted]:
        found: list[Submitted] = []
        for start in range(0, len(items), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            known = [
                _created(item, payload, pattern, added)
                for item, (payload, pattern), added in zip(items[part], texts[part], answers[part], strict=True)
            ]
            found += [each for each in known if each is not None]
            if len(found) < start + len(known):
                found[start:] = await self._looked_up(known, items[part], answers[part])
            await asyncio.sleep(0)
        return found

    async def _looked_up(
        self, known: Sequence[Submitted | None], items: Sequence[Item], answers: Sequence[Added]
    ) -> Sequence[Submitted]:
        """The same with what the store has for those that aren't new."""
        answered = zip(known, items, answers, strict=True)
        missing = await asyncio.gather(*(self._existing(item, added) for each, item, added in answered if each is None))
        found = iter(missing)
        return [each or next(found) for each in known]

    async def _lane(self, submission: Submission) -> Lane:
        request, key = submission.pattern.request, submission.key
        try:
            return self._lanes.at_hand(request) or await self._lanes.of(request)
        except HandlerOff:
            # A repeated request adds nothing and must get its answer, whatever workers may run by now.
            if key is None or not await self._views.keys_taken(submission.owner, [key]):
                raise
            return Lane(request.lane or DEFAULT_LANE)

    def _composed(self, submission: Submission, lane: Lane) -> Item:
        key = None if submission.key is None else Key(text=submission.key, body=submission.digest)
        return compose(
            submission.pattern,
            payload=submission.payload,
            owner=submission.owner,
            key=key,
            lane=lane,
            now=self._clock.now(),
            random_bits=self._random.bits(RANDOM_BITS),
            at_start=submission.at_start,
            trace=self._tracing.current(),
        )

    async def _with_payload_aside(self, item: Item, payload: bytes) -> Item:
        if len(payload) <= MAX_INLINE:
            return item
        return with_blob(item, await self._blobs.put(payload))

    async def _existing(self, item: Item, added: Added) -> Submitted:
        record = await self._views.job(JobId(added.id))
        if record is None:
            raise KeyConflict(
                f"the key {_key(item)!r} belongs to job {added.id}, which was deleted; choose another key"
            )
        job = record.job
        payload = job.task.payload if job.task.blob is None else await self._blobs.get(job.task.blob)
        text = write_json(shown_job(record, payload))
        return Submitted(job.id, job.owner, job.version, text, added.kind is Addition.CREATED)


def _distinct(number: str) -> float | list[str]:
    """A number as a float, or as its text where a float is another number: 1e400 isn't 1e500."""
    value = float(number)
    try:
        same = math.isfinite(value) and Decimal(number) == Decimal(repr(value))
    except InvalidOperation:  # an exponent of twenty digits
        same = False
    return value if same else [number]


def _created(item: Item, payload: bytes, pattern: Pattern, added: Added) -> Submitted | None:
    """The answer for a new job, if the store said enough to give it."""
    if added.kind is not Addition.CREATED or added.at is None:
        return None
    return Submitted(JobId(added.id), _owner(item), 1, stored_text(item, added.at, payload, pattern), created=True)


def _owner(item: Item) -> str:
    return item.owner if isinstance(item, NewRun) else item.job.owner


def _key(item: Item) -> str | None:
    return None if item.key is None else item.key.text


def _conflict(item: Item, added: Added) -> str:
    return f"the key {_key(item)!r} was used for another body, by job {added.id}; choose another key"


def _faults(index: int, error: Invalid) -> Mapping[str, str]:
    if isinstance(error, InvalidFields):
        return {f"jobs.{index}.{field}": fault for field, fault in error.faults.items()}
    return {f"jobs.{index}.{error.field or 'body'}": str(error)}


def _agreed(field: str, inside: str | None, beside: str | None) -> str | None:
    if inside is not None and beside is not None and inside != beside:
        raise Invalid(f"the body says {field} {inside!r}, the header {beside!r}; send one of them", field=field)
    return inside if beside is None else beside
