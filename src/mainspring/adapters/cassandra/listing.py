"""The timetable as an index: jobs listed at the instant at which the planner must look at them.

An entry is written before the job's row says that it counts, and removed after it has ceased to. Within a version of
its job entries only move forward, and no entry is written into a minute that is long over. So an entry that lies behind
its job will never count again and anybody may drop it, and a minute that was found empty late enough stays empty.
"""

from dataclasses import dataclass
from datetime import timedelta

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import EVERYTHING, SHARDS, slot_of, span_of
from mainspring.adapters.cassandra.rows import Key, Put, Row, only
from mainspring.adapters.cassandra.tables import TIMETABLE, TIMETABLE_SLOT
from mainspring.adapters.cassandra.values import identity, number
from mainspring.domain.ids import JobId

_FASTER = span_of(timedelta(minutes=1))
"""How far ahead the clock of whoever wrote an entry may have been."""
_IN_TIME = span_of(timedelta(seconds=10))
"""Whoever takes longer to list a job lists it anew, lest its minute be given up before the job's row counts on it."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A minute of a shard of the timetable."""

    slot: int
    part: int
    """The shard."""

    @property
    def partition(self) -> Key:
        """Where its entries lie."""
        return self.part, self.slot


@dataclass(frozen=True, slots=True)
class Entry:
    """Says that *job_id*, at *version*, is to be looked at from *at* on."""

    at: int
    job_id: JobId
    version: int

    @property
    def place(self) -> Place:
        """Where it belongs: whatever becomes of a job, it stays in its shard."""
        return Place(slot_of(self.at), shard_of(self.job_id))

    @property
    def key(self) -> Key:
        """Where it lies there."""
        return self.at, self.job_id, self.version


def shard_of(job_id: JobId) -> int:
    """The shard of the timetable that a job is in."""
    return job_id.int % SHARDS


def entry_of(row: Row) -> Entry:
    """An entry from its row."""
    return Entry(number(row, "entry_at"), JobId(identity(row, "job_id")), number(row, "version"))


async def enlist(context: Context, job_id: JobId, version: int, *, earliest: int) -> Entry:
    """List a job at *earliest*, or now if that has passed; returns once the entry can't be overlooked."""
    while True:
        entry = Entry(max(earliest, context.now()), job_id, version)
        await context.rows.put(_puts(entry))
        if context.now() < entry.at + _IN_TIME:
            return entry


async def keep_listed(context: Context, entry: Entry | None) -> None:
    """List once more what counts now, if deciding so took long enough for others to have given it up."""
    if entry is not None and context.now() >= entry.at + _IN_TIME:
        await context.rows.put(_puts(entry))


async def is_listed(context: Context, entry: Entry) -> bool:
    """Whether nobody has removed it."""
    return bool(await context.rows.get(TIMETABLE, entry.place.partition, [entry.key]))


async def strike(context: Context, entry: Entry, *, until: int | None = None) -> None:
    """Remove an entry that has ceased to count, for good: it will never be written again.

    With *until*, only if it was written before: one that somebody may still count on can then be listed anew.
    """
    until = context.now() + _FASTER if until is None else until
    await context.rows.delete_range(TIMETABLE, entry.place.partition, only(entry.key), until=until)


def _puts(entry: Entry) -> list[Put]:
    place = entry.place
    row: Row = {
        "part": place.part,
        "slot": place.slot,
        "entry_at": entry.at,
        "job_id": entry.job_id,
        "version": entry.version,
    }
    directory: Row = {"everything": EVERYTHING, "slot": place.slot, "part": place.part}
    return [Put(table=TIMETABLE_SLOT, row=directory), Put(table=TIMETABLE, row=row)]
