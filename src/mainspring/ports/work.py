"""Runs: adding them, handing them over, settling what came of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from mainspring.domain.ids import JobId, Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.run import Attempt, NewRun, State
from mainspring.domain.task import Task
from mainspring.ports.audit import Entry


class Addition(StrEnum):
    """How the store took a new run or job."""

    CREATED = "created"
    EXISTING = "existing"
    """The same id or key with the same body was stored before: `Added.id` names that one."""
    CONFLICT = "conflict"
    """The key was used for another body, by `Added.id`; nothing was stored for it."""
    WITHHELD = "withheld"
    """Nothing was wrong with this one, but it was to be stored together with one that conflicts."""


@dataclass(frozen=True, slots=True)
class Added:
    """The answer for one addition."""

    kind: Addition
    id: UUID
    at: datetime | None = field(default=None, compare=False)
    """The store's now as it was stored, so that nobody has to read it back; of what is new it is always known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Runs that are now ours, and how long until there may be more."""

    attempts: Sequence[Attempt]
    next_in: timedelta | None
    """The wait until the next waiting run of these lanes wakes; zero if the claim was full, None if nothing waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """End the run: at once while it waits, by flag while it runs."""

    reason: str = "cancelled"
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Keep a waiting run from being claimed until it is released."""

    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Let a held run go: it wakes when it would have, or now if that has passed; a backoff isn't cut short."""

    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace what a waiting run will do, and when; None leaves a part as it is."""

    task: Task | None = None
    due: datetime | timedelta | None = None
    name: str | None = None
    spec: bytes | None = None
    expected_version: int | None = None


Order = Cancel | Hold | Release | Edit
"""Each may name the version that it was decided on: a live run at another one is left alone, and that is a conflict.

An edit makes a new version, and so do a hold and a release that change something; a flag and a hand-over don't.
"""


class Effect(StrEnum):
    """What an order did."""

    DONE = "done"
    FLAGGED = "flagged"
    """The run is in a worker's hands; it will be told within a heartbeat."""
    REFUSED = "refused"
    """The run's state doesn't allow it, whatever its version: it has ended, or it runs and the order isn't a cancel."""
    CONFLICT = "conflict"
    """The run's state allows it, but the run is at another version than expected."""
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The answer to an order, with the state the run is in afterwards."""

    effect: Effect
    state: State | None = None


Note = Callable[[Sequence[Added]], Sequence[Entry]]
"""What the audit is to say, once it is known how each item was taken. It may be asked again, and in another thread."""


class Work(Protocol):
    """Every write is a compare-and-set; every verb takes and returns batches, answered in the order they were given."""

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """Store each item once; with *together*, a single conflict stores nothing, on stores that have transactions.

        What *note* says of the answers is in the audit before they are given: on stores that have transactions,
        together with what was stored or not at all.
        """
        ...

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """Hand over the best waiting runs under new fences: by priority, then wake time, lanes in turn.

        Raises SessionLost for a session that has ended.
        """
        ...

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """Apply each verdict whose fence (and session, where given) is current.

        A run that was flagged for cancellation and didn't succeed ends cancelled, whatever its verdict says.
        """
        ...

    async def steer(self, run: RunId, order: Order) -> Steered:
        """Cancel, hold, release or edit: waiting runs change at once, fence included; running ones are flagged."""
        ...

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        """Take dead letters off the list; the runs stay in history. Adding a run with such an origin does the same."""
        ...

    async def hide(self, job: JobId) -> bool:
        """Leave a one-shot job that has ended, or is being cancelled, and its run out of every view.

        False if there is no such job.
        """
        ...

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """The wait until the next waiting run of each lane wakes; a lane without one is left out."""
        ...
