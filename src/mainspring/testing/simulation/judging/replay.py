"""Replays a history against the models of its runs and jobs."""

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from mainspring.domain.ids import JobId, RunId, SessionId, fired_run_id
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.plan import Advance, Skip
from mainspring.domain.run import Attempt, NewRun, State
from mainspring.ports.work import Addition, Cancel, Effect, Steered
from mainspring.testing.simulation.history import Applied, Event, Handled, History
from mainspring.testing.simulation.judging.job_model import JobModel
from mainspring.testing.simulation.judging.leeway import NONE, Leeway
from mainspring.testing.simulation.judging.run_model import RunModel, When
from mainspring.testing.simulation.judging.tickets import TicketJudge
from mainspring.testing.simulation.judging.verdict import Violation


class Replay:
    """The models after everything that the store has applied, and what they objected to."""

    def __init__(self, history: History, leeway: Leeway = NONE) -> None:
        self.runs: dict[RunId, RunModel] = {}
        self.jobs: dict[JobId, JobModel] = {}
        self.violations: list[Violation] = []
        self.discarded: set[RunId] = set()
        self.requeued: set[RunId] = set()
        self._submitted: set[RunId] = set()
        self.skips: set[RunId] = set()
        """The ids that skipped ranges must have."""
        self._sessions: dict[SessionId, str] = {}
        """Which process opened each, until it has ended."""
        self._ended_at: dict[SessionId, float] = {}
        self._lost_with: defaultdict[SessionId, set[RunId]] = defaultdict(set)
        """What had begun in the hands of each that is gone."""
        self._tickets = TicketJudge(self._object)
        self._leeway = leeway
        self._at = 0.0
        self._verbs = {
            "work.add": self._added,
            "work.claim": self._claimed,
            "tickets.take": self._taken,
            "tickets.believed": self._tickets.believed,
            "tickets.start": self._started,
            "broker.acknowledge": self._tickets.acknowledged,
            "work.settle": self._settled,
            "work.steer": self._steered,
            "work.discard": self._discarded,
            "timetable.fire": self._fired,
            "timetable.save": self._saved,
            "timetable.store": self._stored,
            "work.vanish": self._vanished,
            "work.believed": self._believed,
            "work.obeyed": self._obeyed,
            "sessions.open": self._opened,
            "sessions.close": self._closed,
            "sessions.bury": self._buried,
            "sessions.beat": self._beaten,
        }
        for event in history.events:
            self._at = event.at
            self._see(event)

    def _see(self, event: Event) -> None:
        if isinstance(event, Handled):
            model = self.runs.get(event.run)
            if model is None:
                self._object("P5", f"the handler of unknown run {event.run} was called")
            elif event.what == "began":
                model.began(event.fence, self._object)
        elif isinstance(event, Applied) and not isinstance(event.answer, Exception):
            follow = self._verbs.get(event.verb)
            if follow is not None:
                follow(event)

    def _added(self, event: Applied) -> None:
        for item, answer in zip(event.arguments[0], event.answer, strict=True):
            if answer.kind is not Addition.CREATED:
                continue
            if isinstance(item, NewJob):
                self.jobs[item.job.id] = JobModel(item.job)
            else:
                self._submitted.add(item.id)
                self._create(item, event)

    def _create(self, run: NewRun, event: Applied) -> None:
        if run.id in self.runs:
            self._object("P6", f"run {run.id.hex[-6:]} was stored a second time")
        self.runs[run.id] = RunModel.of(run, event.now)
        if run.origin is not None:
            self.requeued.add(run.origin)

    def _claimed(self, event: Applied) -> None:
        self._tickets.claimed(event.answer.attempts, event.now)
        for attempt in event.answer.attempts:
            self._handed_over(attempt, event)

    def _taken(self, event: Applied) -> None:
        self._tickets.taken(event)
        for ticket in event.answer:
            model = self.runs.get(ticket.run_id)
            if model is None:
                self._object("P1", f"a ticket of unknown run {ticket.run_id} was given out")
            else:
                model.taken(event.now, self._object)

    def _started(self, event: Applied) -> None:
        _, tickets = event.arguments
        self._tickets.asked_for(event, tickets)
        for attempt in event.answer:
            if attempt is not None:
                taken_at = self._tickets.taken_at(attempt) if self._leeway.takers_decide else None
                self._handed_over(attempt, event, taken_at)

    def _handed_over(self, attempt: Attempt, event: Applied, taken_at: datetime | None = None) -> None:
        if self._has_ended(attempt.session):
            self._object("P4", f"session {attempt.session} was handed a run after its end")
        model = self.runs.get(attempt.run_id)
        if model is None:
            self._object("P1", f"unknown run {attempt.run_id} was handed over")
        else:
            model.claimed(attempt, event.now, event.at, self._object, taken_at=taken_at)

    def _settled(self, event: Applied) -> None:
        for verdict, answer in zip(event.arguments[0], event.answer, strict=True):
            holder = None if verdict.session is None else self._sessions.get(verdict.session)
            gone = holder is None or _name(holder) == _name(event.process)
            when = When(event.now, event.at, gone)
            model = self.runs.get(verdict.run_id)
            if model is not None:
                if answer is Settled.ACCEPTED and gone and verdict.session is not None:
                    self._lost(model, verdict, verdict.session)
                model.settled_as(verdict, answer, when, self._object)
            elif answer is not Settled.STALE:
                self._object("P1", f"a verdict on unknown run {verdict.run_id} was taken")

    def _lost(self, lost: RunModel, verdict: Verdict, session: SessionId) -> None:
        """A worker died, or is taken for dead: whoever is charged for it was alone there, as far as anybody knows."""
        company = self._lost_with[session]
        company.update(run for run, model in self.runs.items() if model.executes_in(session))
        others = [self.runs[run].name for run in company if self.runs[run] is not lost]
        if others and verdict.losses > lost.losses:
            self._object("P15", f"{lost.name}/{verdict.fence} was charged for a death that {others} shared")

    def _steered(self, event: Applied) -> None:
        run, order = event.arguments
        if run in self.runs:
            self.runs[run].steered(order, event.answer, event.now, self._object)

    def _fired(self, event: Applied) -> None:
        for advance, won in zip(event.arguments[0], event.answer, strict=True):
            if won:
                self._advanced(advance, event)

    def _advanced(self, advance: Advance, event: Applied) -> None:
        self.jobs[advance.job_id].advanced(advance, event.now, self._ended, self._object)
        self._skipped(advance.skips)
        for run in advance.runs:
            if run.id in self.runs:
                self._object("P2", f"the moment {run.due} of job {advance.job_id.hex[-6:]} fired a second time")
            else:
                self._create(run, event)
        replaced = None if advance.cancel is None else self.runs.get(advance.cancel)
        if replaced is not None and not replaced.state.terminal:
            effect = Effect.FLAGGED if replaced.state is State.RUNNING else Effect.DONE
            replaced.steered(Cancel(), Steered(effect=effect), event.now, self._object)

    def _saved(self, event: Applied) -> None:
        _, expected, *rest = event.arguments
        skips: Sequence[Skip] = rest[0] if rest else ()
        self.jobs[expected.id].saved(event.answer, expected, skips, self._object)
        self._skipped(skips)

    def _stored(self, event: Applied) -> None:
        [run] = event.arguments
        if run not in self.runs:
            self._object("P2", f"run {run.hex[-6:]} was stored although no moment of its job was decided to have one")

    def _vanished(self, event: Applied) -> None:
        """What was added and never acknowledged may go; whoever fired a run must have made sure of it."""
        [run] = event.arguments
        model = self.runs.get(run)
        if run in self._submitted and model is not None and not model.fence:
            del self.runs[run]

    def _believed(self, event: Applied) -> None:
        _, run = event.arguments
        self._object("P3", f"somebody was told that his result of {run.hex[-6:]} was accepted, and it wasn't")

    def _obeyed(self, event: Applied) -> None:
        run, order = event.arguments
        model = self.runs.get(run)
        if isinstance(order, Cancel) and model is not None and not (model.flagged or model.state.terminal):
            self._object("P9", f"somebody was told that {model.name} was cancelled, and it wasn't")

    def _skipped(self, skips: Sequence[Skip]) -> None:
        self.skips.update(fired_run_id(skip.job_id, skip.first) for skip in skips)

    def _opened(self, event: Applied) -> None:
        self._sessions[event.answer] = event.process

    def _closed(self, event: Applied) -> None:
        self._end(event.arguments[0])

    def _buried(self, event: Applied) -> None:
        for session in event.answer:
            self._end(session)

    def _end(self, session: SessionId) -> None:
        if self._sessions.pop(session, None) is not None:
            self._ended_at[session] = self._at

    def _has_ended(self, session: SessionId) -> bool:
        if session in self._sessions:
            return False
        grace = self._leeway.claims_outlive_sessions.total_seconds()
        return self._at >= self._ended_at.get(session, -math.inf) + grace

    def _beaten(self, event: Applied) -> None:
        if event.answer is None:
            self._end(event.arguments[0])
        elif event.arguments[0] not in self._sessions:
            self._object("P4", f"session {event.arguments[0]} came back to life")

    def _discarded(self, event: Applied) -> None:
        self.discarded.update(event.arguments[0])

    def _ended(self, run: RunId) -> bool:
        return self.runs[run].state.terminal

    def _object(self, prop: str, text: str) -> None:
        self.violations.append(Violation(prop, text, self._at))


def _name(label: str) -> str:
    return label.partition("#")[0]
