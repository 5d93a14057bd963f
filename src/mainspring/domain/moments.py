"""A job's moments: those of its schedule, seen from the first that has no verdict yet."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mainspring.domain.job import Job
from mainspring.domain.schedule import Recurring
from mainspring.errors import InvalidSchedule

TICK = timedelta(microseconds=1)
"""The resolution of instants: strictly before `t + TICK` is at or before t."""

MAX_COUNT = 100
"""Longer stretches aren't counted: two weeks of five-second ticks are 242,000 moments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """All moments from *first* on; *first* is one even if the schedule doesn't say so: a given start needn't fit it."""

    schedule: Recurring
    anchor: datetime
    first: datetime

    @classmethod
    def of(cls, job: Job, first: datetime) -> "Moments":
        """The moments of a recurring *job*."""
        return cls(schedule=recurring(job), anchor=job.anchor, first=first)

    def since(self, first: datetime) -> "Moments":
        """The same without those before *first*, which is one of them."""
        return replace(self, first=first)

    def after(self, moment: datetime) -> datetime | None:
        """The oldest moment after *moment*, which lies not before the first."""
        return self.schedule.next(moment, anchor=self.anchor)

    def before(self, moment: datetime) -> datetime | None:
        """The newest moment before *moment*, or None if there is none."""
        if moment <= self.first:
            return None
        newest = self.schedule.previous(moment, anchor=self.anchor)
        return self.first if newest is None else max(newest, self.first)

    def newest(self, now: datetime) -> datetime:
        """The newest moment at or before *now*, where the first has come."""
        following = self.after(self.first)
        if following is None or following > now:
            return self.first  # almost always, and a step back costs more than one ahead
        return self.before(now + TICK) or self.first

    def up_to(self, last: datetime) -> Iterator[datetime]:
        """Every moment up to *last*, oldest first; there may be very many."""
        moment: datetime | None = self.first
        while moment is not None and moment <= last:
            yield moment
            moment = self.after(moment)

    def count(self, last: datetime) -> int | None:
        """How many moments lie at or before *last*, which is one of them; None if too many to count."""
        if last == self.first:
            return 1
        others = self.schedule.count(self.first + TICK, last, anchor=self.anchor, limit=MAX_COUNT - 1)
        return None if others is None else 1 + others


def recurring(job: Job) -> Recurring:
    """The schedule of a job that has moments; InvalidSchedule for any other."""
    schedule = job.terms.parsed()
    if not isinstance(schedule, Recurring):
        text = job.terms.schedule
        raise InvalidSchedule(
            f"{text!r} doesn't recur: a standing job needs a cron expression, an interval or 'on-demand'",
            text=text,
            part=text,
        )
    return schedule
