"""What may happen to a standing job's timetable: a reference that replays its story and objects where it strays."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice

from mainspring.domain.ids import RunId
from mainspring.domain.job import Job, JobState, Overlap
from mainspring.domain.moments import Moments
from mainspring.domain.plan import Advance, Skip
from mainspring.testing.simulation.judging.run_model import Object

_MANY = 5_000
_MOMENT = timedelta(microseconds=1)

Ended = Callable[[RunId], bool]
"""Whether a run has ended by now."""


class JobModel:
    """A standing job as it must be by now."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.name = job.id.hex[-6:]
        self._next = job.next_fire_at
        self._active = job.active_run

    def advanced(self, advance: Advance, now: datetime, ended: Ended, object_: Object) -> None:
        """The timetable was applied to it."""
        what = f"job {self.name} fired at {advance.expected_fire_at.time()}"
        if self.job.state is not JobState.ACTIVE:
            object_("P8", f"{what} while it was {self.job.state.name}")
        if advance.expected_version != self.job.version:
            object_("P8", f"{what} as version {advance.expected_version}, which {self.job.version} has replaced")
        if advance.expected_fire_at != self._next:
            object_("P2", f"{what} while {self._next} was next")
        # Its later moments had come when the planner looked; where the store's clock was set back since, their runs
        # are there before their time, and wait for it like any other.
        if advance.expected_fire_at > now:
            object_("P7", f"{what} at {now}")
        if advance.runs and self.job.terms.overlap is not Overlap.ALLOW:
            self._check_overlap(advance, ended, object_)
        if advance.look_again is None:
            runs = [run.due for run in advance.runs if isinstance(run.due, datetime)]
            self._check_cover(advance.expected_fire_at, advance.next_fire_at, runs, advance.skips, object_)
        self._next, self._active = advance.next_fire_at, advance.active_run

    def saved(self, job: Job, expected: Job, skips: Sequence[Skip], object_: Object) -> None:
        """Somebody changed it."""
        if expected.version != self.job.version or expected.next_fire_at != self._next:
            object_("P8", f"job {self.name} was saved over version {self.job.version}, read as {expected.version}")
        if self._next is not None and job.state is not JobState.DELETED:
            # Another schedule counts from when its author looked at the clock: older moments are skipped, no others.
            changed = job.terms != self.job.terms
            until = max([self._next, *(skip.last + _MOMENT for skip in skips)]) if changed else job.next_fire_at
            self._check_cover(self._next, until, [], skips, object_)
        self.job, self._next = job, job.next_fire_at

    def _check_overlap(self, advance: Advance, ended: Ended, object_: Object) -> None:
        what = f"job {self.name} with overlap {self.job.terms.overlap}"
        if len(advance.runs) > 1:
            object_("P13", f"{what} fired {len(advance.runs)} runs at once")
        if self._active is not None and not ended(self._active):
            object_("P13", f"{what} fired while its run {self._active.hex[-6:]} hadn't ended")

    def _check_cover(
        self,
        first: datetime,
        until: datetime | None,
        runs: Sequence[datetime],
        skips: Sequence[Skip],
        object_: Object,
    ) -> None:
        """Each moment from *first* on and before *until* has one verdict, and nothing else has any."""
        last = until - _MOMENT if until is not None else max([*runs, *(skip.last for skip in skips)])
        moments = list(islice(Moments.of(self.job, first).up_to(last), _MANY))
        verdicts = {moment: runs.count(moment) for moment in moments}
        for skip in skips:
            for moment in moments:
                verdicts[moment] += skip.first <= moment <= skip.last
        wrong = [moment for moment, count in verdicts.items() if count != 1]
        strange = [moment for moment in runs if moment not in verdicts]
        if wrong or strange:
            text = f"of {len(moments)} moments of job {self.name} from {first.time()} {len(wrong)} have not one verdict"
            object_("P2", f"{text}, and {len(strange)} runs are none of them")
