"""Goes through the entries of a place: which lead to a job that is due, and which have ceased to count."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum, auto
from functools import partial
from typing import assert_never

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.helping import help_with
from mainspring.adapters.cassandra.jobs import Stored, find_job, planned_at
from mainspring.adapters.cassandra.layout import span_of
from mainspring.adapters.cassandra.listing import Entry, Place, entry_of, strike
from mainspring.adapters.cassandra.rows import Span
from mainspring.adapters.cassandra.tables import TIMETABLE
from mainspring.domain.ids import JobId

PAGE = 64
SLACK = span_of(timedelta(milliseconds=1))
"""So much later than its wake time a job may be listed, because its entries only move forward."""
FORGOTTEN = span_of(timedelta(hours=1))
"""Whoever wrote an entry so long ago, and hasn't made it count since, has died."""


@dataclass(slots=True)
class Found:
    """What a place holds."""

    jobs: list[Stored] = field(default_factory=list)
    """Those that are due."""
    more: bool = False
    """Whether others may be due, too."""
    next_at: int | None = None
    """When the first that isn't due will be."""
    empty: bool = True

    @property
    def waiting_since(self) -> int | None:
        """Where the first of the jobs is listed."""
        return min((stored.entry.at for stored in self.jobs if stored.entry is not None), default=None)


class Standing(Enum):
    """How a job stands to one of its entries."""

    BEFORE = auto()
    """It isn't there yet, and may never be."""
    AT = auto()
    PAST = auto()
    """The entry will never count again."""


def standing(stored: Stored | None, entry: Entry) -> Standing:
    """A job goes from version to version, and within each from entry to entry until nothing more is planned."""
    if stored is None or stored.job.version < entry.version:
        return Standing.BEFORE
    if stored.job.version > entry.version or stored.entry is None or stored.entry.at > entry.at:
        return Standing.PAST
    return Standing.AT if stored.entry == entry else Standing.BEFORE


async def examine(context: Context, place: Place, *, since: int, now: int, enough: int) -> Found:
    """Find what is due in *place*, finish what was left undone, and drop what has ceased to count."""
    found, span = Found(), Span(first=(since,))
    while True:
        rows = await context.rows.slice(TIMETABLE, place.partition, span, limit=PAGE)
        entries = [entry_of(row) for row in rows]
        due = [entry for entry in entries if entry.at <= now + SLACK]
        found.empty = found.empty and not entries
        await _judge(context, due, now, found)
        if len(due) < len(entries):
            _announce(found, entries[len(due)].at)
        found.more = len(due) == PAGE and len(found.jobs) > enough
        if len(due) < PAGE or found.more:
            return found
        span = Span(after=due[-1].key)


async def _judge(context: Context, entries: list[Entry], now: int, found: Found) -> None:
    by_job: dict[JobId, list[Entry]] = {}
    for entry in entries:
        by_job.setdefault(entry.job_id, []).append(entry)
    for stored in await abreast(partial(_look_at, context, now=now), list(by_job.values())):
        wake_at = None if stored is None else planned_at(stored.job)
        if stored is None or wake_at is None:
            continue
        if wake_at <= now:
            found.jobs.append(stored)
        else:
            _announce(found, wake_at)


async def _look_at(context: Context, entries: list[Entry], *, now: int) -> Stored | None:
    """The job of *entries*, if one of them counts."""
    stored = await find_job(context, entries[0].job_id)
    counted = None
    for entry in entries:
        match standing(stored, entry):
            case Standing.AT:
                counted = stored
            case Standing.PAST:
                await help_with(context, stored, entry)
                await strike(context, entry)
            case Standing.BEFORE:
                if entry.at < now - FORGOTTEN:
                    await _give_up(context, entry)
            case never:
                assert_never(never)
    return counted


async def _give_up(context: Context, entry: Entry) -> None:
    """Drop an entry that nobody will make count: a change that is still under way is finished or ruled out first."""
    if standing(await find_job(context, entry.job_id, settled=True), entry) is Standing.BEFORE:
        await strike(context, entry, until=entry.at + FORGOTTEN)


def _announce(found: Found, moment: int) -> None:
    found.next_at = moment if found.next_at is None else min(found.next_at, moment)
