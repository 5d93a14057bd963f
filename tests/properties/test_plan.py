"""Whatever happens to a job, each of its moments gets exactly one verdict: a run, or a place in one skipped range."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mainspring.domain.ids import JobId, RunId, Version, fired_run_id
from mainspring.domain.job import CatchUp, Job, JobState, Misfire, Overlap, Terms
from mainspring.domain.plan import MAX_RUNS, Advance, DueJob, Skip, plan
from mainspring.domain.reschedule import edited, paused, resumed, scheduled
from mainspring.domain.run import NewRun, State
from mainspring.domain.schedule import Cron, Every
from mainspring.domain.task import Task

MIDNIGHT = datetime(2030, 3, 31, tzinfo=UTC)

schedules = st.one_of(
    st.sampled_from([1, 2, 10, 90]).map(lambda seconds: f"@every {seconds}s"),
    st.sampled_from(["*/7 * * * * *", "* * * * *", "*/5 * * * *", "0,1,2 0 * * * *", "30 2 * * *"]),
)
durations = st.one_of(st.integers(0, 60), st.integers(60, 4_000), st.floats(0, 60)).map(
    lambda seconds: timedelta(seconds=seconds)
)


@st.composite
def all_terms(draw: st.DrawFn) -> Terms:
    return Terms(
        schedule=draw(schedules),
        timezone=draw(st.sampled_from(["UTC", "Europe/Berlin"])),
        starts_at=draw(st.none() | durations.map(lambda wait: MIDNIGHT + wait)),
        misfire=Misfire(grace=draw(durations), policy=draw(st.sampled_from(CatchUp))),
        overlap=draw(st.sampled_from(Overlap)),
    )


@dataclass(frozen=True)
class Verdict:
    """What became of one moment."""

    moment: datetime
    run: bool


class Timetable(RuleBasedStateMachine):
    """One job in a store, planners that read it at any time and write later, and people that change it."""

    @initialize(terms=all_terms())
    def someone_adds_a_job(self, terms: Terms) -> None:
        self.now = MIDNIGHT
        self.active = State.SUCCEEDED
        self.in_flight: list[Advance] = []
        self.job = scheduled(
            Job(
                id=JobId(UUID(int=1)),
                task=Task(handler="report"),
                created_at=MIDNIGHT,
                updated_at=MIDNIGHT,
                terms=terms,
            ),
            self.now,
        )
        self.begin()

    def begin(self) -> None:
        """From here on the moments are those of the job's present schedule."""
        self.first = self.job.next_fire_at
        self.come: list[datetime] = []
        self.verdicts: list[Verdict] = []
        assert self.first is not None
        assert self.first > self.now

    @rule(duration=durations)
    def time_passes(self, duration: timedelta) -> None:
        self.now += duration

    @rule(state=st.sampled_from([State.RUNNING, State.SUCCEEDED, State.DEAD, State.CANCELLED]))
    @precondition(lambda self: not self.active.terminal)
    def the_active_run_changes(self, state: State) -> None:
        self.active = state

    @rule(duration=durations)
    def time_passes_and_a_planner_steps(self, duration: timedelta) -> None:
        self.now += duration
        if self.is_due:
            self.fire(self.plan())

    @rule()
    @precondition(lambda self: self.is_due)
    def a_slow_planner_plans(self) -> None:
        self.in_flight.append(self.plan())

    @rule(data=st.data())
    @precondition(lambda self: bool(self.in_flight))
    def a_slow_planner_fires(self, data: st.DataObject) -> None:
        self.fire(self.in_flight.pop(data.draw(st.integers(0, len(self.in_flight) - 1))))

    @rule()
    @precondition(lambda self: self.job.state is JobState.ACTIVE)
    def someone_pauses_the_job(self) -> None:
        self.save(paused(self.job))

    @rule()
    @precondition(lambda self: self.job.state is JobState.PAUSED)
    def someone_resumes_the_job(self) -> None:
        job, skips = resumed(self.job, self.now)
        self.record(skips)
        self.save(job)

    @rule(terms=all_terms())
    def someone_edits_how_the_job_catches_up(self, terms: Terms) -> None:
        changed = replace(self.job.terms, misfire=terms.misfire, overlap=terms.overlap)
        job, skips = edited(self.job, replace(self.job, terms=changed), self.now)
        assert skips == ()
        self.save(job)

    @rule(terms=all_terms())
    def someone_edits_the_schedule(self, terms: Terms) -> None:
        assume(terms.schedule != self.job.terms.schedule)
        job, skips = edited(self.job, replace(self.job, terms=terms), self.now)
        self.record(skips)
        self.everything_that_has_come_is_decided()
        self.save(job)
        self.begin()

    @invariant()
    def every_moment_before_the_next_has_exactly_one_verdict(self) -> None:
        assert self.job.next_fire_at is not None
        assert self.moments_before(self.job.next_fire_at) == self.seen()

    def teardown(self) -> None:
        """Once the active runs end and planners are left alone, everything that has come is decided."""
        if not hasattr(self, "job"):
            return
        self.someone_resumes_the_job()
        while self.job.next_fire_at is not None and self.job.next_fire_at <= self.now:
            self.active = State.SUCCEEDED
            self.fire(self.plan())
        self.everything_that_has_come_is_decided()

    def everything_that_has_come_is_decided(self) -> None:
        assert self.moments() == self.seen()

    @property
    def is_due(self) -> bool:
        return self.job.wake_at is not None and self.job.wake_at <= self.now

    def plan(self) -> Advance:
        active = self.active if self.job.active_run else None
        return plan(DueJob(job=self.job, active=active), self.now)

    def fire(self, advance: Advance) -> None:
        """Apply an advance as a store does: whole, if the job is as expected."""
        expected = (advance.expected_version, advance.expected_fire_at, advance.expected_active)
        if self.job.state is not JobState.ACTIVE or expected != self.place:
            return
        self.check_runs(advance.runs)
        self.record(advance.skips)
        self.verdicts += [Verdict(moment=self.moment_of(run), run=True) for run in advance.runs]
        if advance.runs:
            self.active = State.WAITING
        self.job = replace(
            self.job, next_fire_at=advance.next_fire_at, wake_at=advance.wake_at, active_run=advance.active_run
        )

    @property
    def place(self) -> tuple[int, datetime | None, RunId | None]:
        return self.job.version, self.job.next_fire_at, self.job.active_run

    def check_runs(self, runs: tuple[NewRun, ...]) -> None:
        if self.job.terms.overlap is Overlap.ALLOW:
            assert len(runs) <= MAX_RUNS
        elif runs:
            assert len(runs) == 1
            assert self.active.terminal or self.job.active_run is None
        for run in runs:
            assert self.moment_of(run) <= self.now
            assert run.id == fired_run_id(self.job.id, self.moment_of(run))

    def moment_of(self, run: NewRun) -> datetime:
        assert isinstance(run.due, datetime)
        return run.due

    def save(self, job: Job) -> None:
        self.job = replace(job, version=Version(job.version + 1))

    def record(self, skips: tuple[Skip, ...]) -> None:
        """Take every moment of the skipped ranges, by the schedule that the job has had until now."""
        for skip in skips:
            moments = [moment for moment in self.moments() if skip.first <= moment <= skip.last]
            assert moments[0] == skip.first
            assert moments[-1] == skip.last
            assert skip.count == (len(moments) if len(moments) <= 100 else None)
            assert skip.last <= self.now
            self.verdicts += [Verdict(moment=moment, run=False) for moment in moments]

    def seen(self) -> list[datetime]:
        return sorted(verdict.moment for verdict in self.verdicts)

    def moments_before(self, end: datetime) -> list[datetime]:
        return [moment for moment in self.moments() if moment < end]

    def moments(self) -> list[datetime]:
        """Everything that has come, one by one: time only goes forward, so that what came before is remembered."""
        schedule = self.job.terms.parsed()
        assert isinstance(schedule, Cron | Every)
        moment = schedule.next(self.come[-1], anchor=self.job.anchor) if self.come else self.first
        while moment is not None and moment <= self.now:
            self.come.append(moment)
            moment = schedule.next(moment, anchor=self.job.anchor)
        return self.come


TestTimetable = Timetable.TestCase
TestTimetable.settings = settings(max_examples=80, stateful_step_count=30)
