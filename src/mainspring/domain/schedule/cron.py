"""Recurring by a cron expression in the local time of a zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from mainspring.domain.schedule.daylight import ELAPSED, DaylightSaving, Fold, Gap
from mainspring.domain.schedule.local_calendar import covers_every_hour, next_match, previous_match
from mainspring.domain.schedule.zones import edge_around, to_instant, to_local

_SECOND = timedelta(seconds=1)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 12, 30, tzinfo=UTC)  # local times of all zones still exist
_MOST_GAPS = 50  # in a row: a schedule that only meets gaps has no further moment


@dataclass(frozen=True, slots=True)
class Cron:
    """The instants from 1970 on at which the clocks of *zone* match *text*.

    Where the clocks jump, *dst* decides: a local time in a gap fires as the gap ends or not at all, and one that
    occurs twice fires at its first occurrence or at both. Several local times that fire as a gap ends are one moment.

    An expression whose hour field lets every hour pass (`*`, `*/1`, `0-23`) follows elapsed time instead: it fires
    in both passes of a fold, and nothing is added for a gap. So a job that runs each minute or hour keeps its pace.
    """

    text: str
    zone: str
    dst: DaylightSaving

    def __str__(self) -> str:
        return self.text

    def next(self, after: datetime, *, anchor: datetime) -> datetime | None:  # noqa: ARG002 - as in Every
        """The first moment strictly after *after*; None beyond the year 9999."""
        found = _Search(self).next(max(after, _EARLIEST - _SECOND).replace(microsecond=0)) if after < _LATEST else None
        return found if found and found < _LATEST else None

    def previous(self, before: datetime, *, anchor: datetime) -> datetime | None:  # noqa: ARG002 - as in Every
        """The last moment strictly before *before*, or None if there is none since 1970."""
        if before <= _EARLIEST:
            return None
        next_second = min(before, _LATEST) + _SECOND - timedelta.resolution
        found = _Search(self).previous(next_second.replace(microsecond=0))
        return found if found and found >= _EARLIEST else None

    def count(self, first: datetime, last: datetime, *, anchor: datetime, limit: int) -> int | None:
        """How many moments lie in [first, last], or None if more than *limit*; the cost grows with the answer."""
        count = 0
        moment = self.next(max(first, _EARLIEST) - timedelta.resolution, anchor=anchor)
        while moment and moment <= last:
            count += 1
            if count > limit:
                return None
            moment = self.next(moment, anchor=anchor)
        return count


class _Search:
    """The way from local matches to instants and back; all instants and local times are in whole seconds.

    Local times and instants run in the same order except in a fold, whose local times occur in a first and a second
    pass. No two edges of a zone are near each other, so one edge at a time is enough.
    """

    __slots__ = ("both", "skip", "text", "zone")

    def __init__(self, cron: Cron) -> None:
        policy = ELAPSED if covers_every_hour(cron.text) else cron.dst
        self.text = cron.text
        self.zone = ZoneInfo(cron.zone)
        self.both = policy.fold is Fold.BOTH
        self.skip = policy.gap is Gap.SKIP

    def next(self, after: datetime) -> datetime | None:
        local = to_local(after, self.zone)
        fold = edge_around(local, self.zone)
        if fold is None:
            return self._forward(local, after)
        if not self.both:
            # All that the fold holds fires in its first pass.
            return self._forward(fold.ends - _SECOND if local.fold else local, after)
        found = self._forward(local, after)
        if after < fold.at and (found is None or found >= fold.at):
            # The first pass is over: the second one begins with local times that lie before *local*.
            return self._forward(fold.begins - _SECOND, after)
        return found

    def previous(self, before: datetime) -> datetime | None:
        local = to_local(before, self.zone)
        fold = edge_around(local, self.zone)
        if fold is None or not local.fold:
            return self._backward(local, before)
        if not self.both:
            return self._backward(fold.ends, before)
        found = self._backward(local, before)
        if found is None or found < fold.at:
            return self._backward(fold.ends, fold.at)
        return found

    def _forward(self, local: datetime, after: datetime) -> datetime | None:
        """The first instant later than *after* of the matches later than *local*."""
        for _ in range(_MOST_GAPS):
            match = next_match(self.text, local)
            if match is None:
                return None
            edge = edge_around(match, self.zone)
            if edge is None or not edge.is_gap:
                first = to_instant(match, self.zone)
                return first if first > after else to_instant(match, self.zone, fold=1)
            if not self.skip:
                return edge.at
            local = edge.ends - _SECOND
        return None

    def _backward(self, local: datetime, before: datetime) -> datetime | None:
        """The last instant earlier than *before* of the matches earlier than *local*."""
        for _ in range(_MOST_GAPS):
            match = previous_match(self.text, local)
            if match is None:
                return None
            edge = edge_around(match, self.zone)
            if edge is None or not edge.is_gap:
                last = to_instant(match, self.zone, fold=int(self.both))
                return last if last < before else to_instant(match, self.zone)
            if not self.skip and edge.at < before:
                return edge.at
            local = edge.begins
        return None
