"""What may happen to one run: a reference that replays its story and objects where it strays."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mainspring.domain.ids import Fence, SessionId
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.retry import MAX_LOSSES
from mainspring.domain.run import Attempt, NewRun, State
from mainspring.domain.task import BACKSTOP, Task
from mainspring.ports.work import Cancel, Edit, Effect, Hold, Order, Release, Steered

Object = Callable[[str, str], None]
"""Takes the number of the property and what is wrong."""


@dataclass(frozen=True, slots=True)
class When:
    """The circumstances of a verdict."""

    now: datetime
    """By the store's clock, which may have been set."""
    at: float
    gone: bool
    """Whether the holder's session had ended, or the holder judges itself."""


@dataclass(slots=True)
class RunModel:
    """A run as it must be by now."""

    name: str
    task: Task
    state: State = State.WAITING
    not_before: datetime | None = None
    fence: Fence = Fence(0)
    """Of the latest hand-over."""
    outdated: bool = False
    """Whether something else than the latest hand-over has changed the run since."""
    session: SessionId | None = None
    backstop: datetime | None = None
    claimed_at: float = 0.0
    held: bool = False
    flagged: bool = False
    failures: int = 0
    losses: int = 0
    allowed: int = 0
    """How many failures may be followed by another attempt; an edit takes nothing back."""
    settled: set[Fence] = field(default_factory=set)
    lost: set[Fence] = field(default_factory=set)
    begun: set[Fence] = field(default_factory=set)

    @classmethod
    def of(cls, run: NewRun, now: datetime) -> "RunModel":
        """A run that was stored at *now*."""
        due = now + run.due if isinstance(run.due, timedelta) else run.due
        return cls(name=run.id.hex[-6:], task=run.task, not_before=due, allowed=run.task.retry.max_retries)

    def executes_in(self, session: SessionId) -> bool:
        """Whether a handler was called for the session that holds it."""
        return self.state is State.RUNNING and self.session == session and self.fence in self.begun

    def taken(self, now: datetime, object_: Object) -> None:
        """Somebody was given a ticket of the run."""
        what = f"a ticket of {self.name} was given out"
        if self.state is not State.WAITING:
            object_("tickets", f"{what} although it didn't wait")
        if self.not_before is not None and now < self.not_before:
            object_("P7", f"{what} at {now}, before {self.not_before}")
        if self.held:
            object_("P8", f"{what} while it was held")

    def claimed(
        self, attempt: Attempt, now: datetime, at: float, object_: Object, *, taken_at: datetime | None = None
    ) -> None:
        """Somebody was handed the run; if by a ticket, that may have been given out by a clock that was ahead."""
        what = f"{self.name} was handed over as {attempt.fence}"
        if self.state.terminal:
            object_("P6", f"{what} after it had ended as {self.state.name}")
        if self.state is State.RUNNING:
            object_("P4", f"{what} while session {self.session} held it as {self.fence}")
        if attempt.fence <= self.fence:
            object_("P5", f"{what} after {self.fence}")
        if self.not_before is not None and max(now, taken_at or now) < self.not_before:
            object_("P7", f"{what} at {now}, before {self.not_before}")
        if self.held:
            object_("P8", f"{what} while it was held")
        if self.flagged:
            object_("P9", f"{what} after it was flagged for cancellation")
        if attempt.failures > self.allowed:
            object_("P10", f"{what} after {attempt.failures} failures of {self.allowed} + 1")
        if attempt.task != self.task:
            object_("P4", f"{what} with another task than it was given")
        self.state, self.fence, self.session, self.outdated = State.RUNNING, attempt.fence, attempt.session, False
        self.backstop, self.claimed_at = now + self.task.timeout + BACKSTOP, at

    def settled_as(self, verdict: Verdict, answer: Settled, when: When, object_: Object) -> None:
        """A verdict was given."""
        what = f"{self.name}/{verdict.fence} as {verdict.state.name}"
        current = verdict.fence == self.fence and not self.outdated and not self.state.terminal
        if answer is Settled.ACCEPTED:
            self._accept(verdict, when, current, object_)
        elif answer is Settled.REPEATED and verdict.fence not in self._known_to(verdict):
            object_("P3", f"{what} was called a repetition, and it wasn't")
        elif answer is Settled.STALE and current and verdict.session is None and verdict.fence not in self.settled:
            object_("P3", f"{what} was refused although it was current")

    def _known_to(self, verdict: Verdict) -> set[Fence]:
        """The hand-overs of which such a verdict can be a repetition."""
        return self.settled if verdict.session is None else self.settled | self.lost

    def steered(self, order: Order, answer: Steered, now: datetime, object_: Object) -> None:
        """Somebody gave an order."""
        if answer.effect not in {Effect.DONE, Effect.FLAGGED}:
            return
        expected = State.RUNNING if answer.effect is Effect.FLAGGED else State.WAITING
        if self.state is not expected:
            object_("P9", f"{type(order).__name__} of {self.name} was {answer.effect} while it was {self.state.name}")
        match order:
            case Cancel():
                if answer.effect is Effect.FLAGGED:
                    self.flagged = True
                else:
                    self.state = State.CANCELLED
            case Hold() | Release():
                held = isinstance(order, Hold)
                self.outdated |= held is not self.held
                self.held = held
            case Edit():
                self._edit(order, now)

    def began(self, fence: Fence, object_: Object) -> None:
        """A handler was called."""
        what = f"the handler of {self.name}/{fence} began"
        if fence in self.begun:
            object_("P5", f"{what} twice")
        if fence > self.fence:
            object_("P5", f"{what} before any such hand-over")
        # Whoever was taken for dead may begin all the same, and so may a thread whose time ran out before.
        if self.state is State.CANCELLED and fence not in self.lost | self.settled:
            object_("P9", f"{what} after the run was cancelled")
        self.begun.add(fence)

    def _accept(self, verdict: Verdict, when: When, current: bool, object_: Object) -> None:
        what = f"{self.name}/{verdict.fence} as {verdict.state.name}"
        if self.state.terminal:
            object_("P3", f"{what} was accepted after {self.state.name}")
        if not current:
            object_("P4", f"{what} was accepted while {self.fence} is the latest hand-over")
        if verdict.session is None:
            if verdict.fence in self.settled:
                object_("P3", f"{what} was accepted twice")
            self.settled.add(verdict.fence)
        else:
            self._lose(verdict, when, object_)
        if verdict.failures > self.allowed + 1 or verdict.losses > MAX_LOSSES:
            object_("P10", f"{what} is failure {verdict.failures}, loss {verdict.losses}")
        if not self.failures <= verdict.failures <= self.failures + 1:
            object_("P10", f"{what} counts {verdict.failures} failures after {self.failures}")
        self.failures, self.losses = verdict.failures, verdict.losses
        self.not_before = when.now + verdict.delay
        cancelled = self.flagged and verdict.state is not State.SUCCEEDED
        self.state = State.CANCELLED if cancelled else verdict.state
        self.session = None
        if self.state.terminal:
            self.settled.add(verdict.fence)

    def _lose(self, verdict: Verdict, when: When, object_: Object) -> None:
        what = f"{self.name}/{verdict.fence} was taken from session {verdict.session}"
        if self.state is not State.RUNNING or verdict.session != self.session:
            object_("P4", f"{what}, which didn't hold it")
        elif not when.gone and (self.backstop is None or when.now <= self.backstop):
            object_("P4", f"{what}, which was alive")
        elif not when.gone and when.at > self.claimed_at + BACKSTOP.total_seconds():
            object_("liveness", f"{what} by its backstop only: a worker that lives had forgotten it")
        self.lost.add(verdict.fence)

    def _edit(self, order: Edit, now: datetime) -> None:
        self.outdated = True
        if order.task is not None:
            self.task = order.task
            self.allowed = max(order.task.retry.max_retries, self.failures)
        if order.due is not None:
            self.not_before = now + order.due if isinstance(order.due, timedelta) else order.due
