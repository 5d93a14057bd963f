"""Where things lie: shards, minutes and months, all of which follow from ids and instants alone."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from mainspring.domain.ids import milliseconds_of, moment_of

SHARDS = 16
"""Parts of the work and of the timetable. Written to `setting` by the first process, and the same for ever."""
EVERYTHING = 0
"""The only partition of tables that stay small."""
TRAIL = timedelta(seconds=30)
"""How far a cursor stays behind now: what is indexed later than this after its time waits for the audit."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SLOT = 60_000_000
_SLOT_MILLISECONDS = _SLOT // 1000


def shard_of(identity: UUID) -> int:
    """The shard of a run or of a standing job: its last bits are random, or a hash."""
    return identity.int % SHARDS


def slot_of(microseconds: int) -> int:
    """The minute in which an instant lies."""
    return microseconds // _SLOT


def slot_of_id(identity: UUID) -> int:
    """The minute that an id carries."""
    return milliseconds_of(identity) // _SLOT_MILLISECONDS


def home_of(run_id: UUID) -> tuple[int, int]:
    """The partition that holds a run."""
    number = run_id.int  # as `shard_of` and `slot_of_id` have it; this is asked several times of every run
    return number % SHARDS, (number >> 80) // _SLOT_MILLISECONDS


def slot_start(slot: int) -> int:
    """The first microsecond of a minute."""
    return slot * _SLOT


def month_of(identity: UUID) -> int:
    """The month that an id carries, as in 202601."""
    return _month(moment_of(identity))


def month_at(microseconds: int) -> int:
    """The month in which an instant lies, as in 202601."""
    return _month(instant(microseconds))


def _month(moment: datetime) -> int:
    return moment.year * 100 + moment.month


def micros(instant: datetime) -> int:
    """An instant as stores keep it."""
    return (instant - _EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Read back what `micros` wrote: the last instant for a wait that goes beyond it."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return _LAST


def span_of(duration: timedelta) -> int:
    """A duration as stores keep it."""
    return duration // _MICROSECOND
