"""What schedulers decide about late moments: what came while one watched isn't missed, what was goes by its policy."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from mainspring.domain.job import CatchUp, Overlap
from mainspring.domain.moments import Moments
from mainspring.domain.plan import Advance, DueJob, SkipReason
from mainspring.ports.timetable import Due
from mainspring.testing.simulation.history import Answered, History
from mainspring.testing.simulation.judging.verdict import Violation

_EXCUSED = timedelta(seconds=2)
"""So late a moment may be at most without having been missed, if its grace is no longer."""
_MANY = 5_000


@dataclass(slots=True)
class _Look:
    """What a scheduler saw, and whether it has decided all of it."""

    due: Due
    shards: frozenset[int]
    sent: float
    heard: float
    decided: bool = True


@dataclass(slots=True)
class _Scheduler:
    """One life of a scheduler."""

    look: _Look | None = None
    watched: dict[int, float] = field(default_factory=dict)
    """When it had heard of each shard last with nothing left to decide, or first."""

    def looks(self, look: _Look) -> None:
        last = self.look
        if last is not None:
            self.watched = dict.fromkeys(last.shards, last.heard) | self.watched
        if last is not None and last.decided and last.due.next_in != timedelta(0):
            self.watched.update(dict.fromkeys(last.shards, last.heard))
        self.look = look


class MisfireJudge:
    """Follows every scheduler's looks at the timetable, and judges its decisions by what it could know."""

    def __init__(self, history: History) -> None:
        self._schedulers: dict[str, _Scheduler] = {}
        self.violations = [
            violation for event in history.events if isinstance(event, Answered) for violation in self._see(event)
        ]

    def _see(self, event: Answered) -> Iterator[Violation]:
        scheduler = self._schedulers.setdefault(event.process, _Scheduler())
        match event.verb:
            case "planner.looked":
                sent, shards = event.arguments
                scheduler.looks(_Look(event.answer, shards, sent, event.at))
            case "planner.decided" if scheduler.look is not None:
                scheduler.look.decided = False
                due = {each.job.id: each for each in scheduler.look.due.jobs}
                for advance in event.answer:
                    for text in _faults(due[advance.job_id], advance, scheduler):
                        yield Violation("P14", f"job {advance.job_id.hex[-6:]} {text}", event.at)
            case "planner.fired" if scheduler.look is not None:
                scheduler.look.decided = all(event.answer)
            case _:
                pass


def _faults(due: DueJob, advance: Advance, scheduler: _Scheduler) -> Iterator[str]:
    """What is wrong beyond doubt: how long ago the scheduler looked depends on how long its requests were under way."""
    look, job = scheduler.look, due.job
    if look is None or job.next_fire_at is None:
        return
    now, grace = look.due.now, job.terms.misfire.grace
    watched = timedelta(seconds=look.sent - scheduler.watched.get(due.shard, look.sent))
    put_off = job.terms.overlap in {Overlap.WAIT, Overlap.REPLACE} and job.active_run is not None
    asked_for = now - (job.wake_at or job.next_fire_at)
    for skip in advance.skips:
        late = now - skip.last
        if skip.reason is SkipReason.MISFIRE and late <= max(grace, min(watched, _EXCUSED)):
            yield f"has missed {skip.last.time()}, {late} late, although its scheduler had looked {watched} before"
        if skip.reason is SkipReason.MISFIRE and put_off and asked_for <= max(grace, min(watched, _EXCUSED)):
            yield f"has missed {skip.last.time()}, which waited for its active run"
    if put_off and asked_for <= max(grace, _EXCUSED):
        return
    newest = max(islice(Moments.of(job, job.next_fire_at).up_to(now), _MANY))
    allowed = {CatchUp.LATEST: {newest}, CatchUp.NONE: set()}.get(job.terms.misfire.policy)
    for moment in (run.due for run in advance.runs if isinstance(run.due, datetime)):
        if allowed is not None and moment not in allowed and now - moment > max(grace, _EXCUSED):
            yield f"runs {moment.time()}, {now - moment} late, against its policy {job.terms.misfire.policy}"
