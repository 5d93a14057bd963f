"""Identities: the types that name things, and the ids that make repeated writes harmless.

Every id has the shape of a UUID version 7: 48 bits of time in milliseconds, then 74 bits. Sorting ids therefore
sorts by time, and a store can find a run's home from its id alone. New jobs carry their microsecond too, in the
12 bits that RFC 9562 allows for it: two that one process accepts one after the other are listed in that order.
"""

import hashlib
from datetime import UTC, datetime
from typing import NewType
from uuid import UUID, SafeUUID

JobId = NewType("JobId", UUID)
RunId = NewType("RunId", UUID)
SessionId = NewType("SessionId", int)
Fence = NewType("Fence", int)
"""Grows with every hand-over of a run, and with every acquisition of a lock."""
Version = NewType("Version", int)
"""Grows with every edit of a job; never with a tick, so that a person's If-Match doesn't fail because of one."""
Lane = NewType("Lane", str)
BlobId = NewType("BlobId", str)

DEFAULT_LANE = Lane("default")
DEFAULT_OWNER = "default"
DEFAULT_PROJECT = "default"

RANDOM_BITS = 62
_UNKNOWN = SafeUUID.unknown
_assign = object.__setattr__
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOW_BITS = (1 << 62) - 1


def new_job_id(created_at: datetime, random_bits: int) -> JobId:
    """A fresh id for a job, or for a run that is a job of its own; *random_bits* has 62 of them."""
    within = created_at.microsecond % 1000
    return JobId(_shape(created_at, (within * 4096 // 1000) << 62 | random_bits))


def fired_run_id(job: JobId, fire_time: datetime) -> RunId:
    """The only id that this moment of this job can have: firing it twice writes the same row."""
    return RunId(_shape(fire_time, _digest(job.bytes, fire_time.isoformat().encode())))


def derived_run_id(origin: UUID, distinction: str, created_at: datetime) -> RunId:
    """The id of a trigger of job *origin* or a retry of run *origin*, told apart by a key or a nonce."""
    return RunId(_shape(created_at, _digest(origin.bytes, distinction.encode())))


def uuid_of(number: int) -> UUID:
    """The id with that number of 128 bits, without the checks that take longer than all the rest."""
    made = object.__new__(UUID)
    _assign(made, "int", number)
    _assign(made, "is_safe", _UNKNOWN)
    return made


def moment_of(identity: UUID) -> datetime:
    """The time that an id carries, to the millisecond."""
    return datetime.fromtimestamp(milliseconds_of(identity) / 1000, tz=UTC)


def milliseconds_of(identity: UUID) -> int:
    """The same since 1970, for whoever needs it of very many."""
    return identity.int >> 80


def _shape(at: datetime, bits: int) -> UUID:
    since = at - _EPOCH
    # By hand, because dividing one duration by another takes as long as all the rest.
    milliseconds = max((since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000, 0)
    high = (bits >> 62) & 0xFFF
    return uuid_of(milliseconds << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | bits & _LOW_BITS)


def _digest(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha256(b"\0".join(parts)).digest()[:10], "big")
