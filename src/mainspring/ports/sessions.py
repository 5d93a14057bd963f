"""The lives of worker and scheduler processes. Runs are held by sessions: there is no lease per run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from mainspring.domain.ids import Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt


class Role(StrEnum):
    """What a session's process does."""

    WORKER = "worker"
    SCHEDULER = "scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A process that comes alive."""

    role: Role
    name: str
    """The worker's or scheduler's own name; a restarted process has the same name and a new session."""
    ttl: timedelta
    host: str = ""
    pid: int = 0
    capacity: int = 0
    handlers: Mapping[str, Lane] = field(default_factory=dict)
    """The handlers that it serves, each with its lane; stores never forget one."""
    draining: bool = False
    """Whether its process was asked to drain before: one that lost its session goes on as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a process tells with its heartbeat."""

    executing: int = 0
    clock: datetime | None = None
    """Its own wall clock, so that skew can be seen."""
    drained: bool = False
    """Whether it has nothing in hand and takes nothing, because it was asked to drain."""
    trouble: str | None = None
    """What its process lacks, in one sentence, while that keeps it from its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The answer to a heartbeat: what the store believes that this session holds."""

    held: Mapping[RunId, Fence]
    cancelling: frozenset[RunId]
    """Those of them that somebody asked to cancel."""
    draining: bool = False
    """Whether somebody wishes that it takes no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A live session as others see it."""

    id: SessionId
    role: Role
    name: str
    host: str
    pid: int
    capacity: int
    executing: int
    lanes: Sequence[Lane]
    opened_at: datetime
    beat_at: datetime
    skew: timedelta
    """The process's clock minus the store's at its last heartbeat."""
    draining: bool = False
    """Whether somebody wishes that it takes no more; it hears of that with its next heartbeat."""
    drained: bool = False
    """Whether it has said since then that it has nothing in hand. One that doesn't know the wish never does."""
    trouble: str | None = None
    """What its process lacked at its last heartbeat."""


class Sessions(Protocol):
    """A session lives until it is closed, or buried because its time is up; what has ended never revives.

    A heartbeat that comes late, but before the burial, saves the session: nobody has acted on its death yet.
    """

    async def open(self, session: NewSession) -> SessionId:
        """Begin a session, alive from now for its ttl."""
        ...

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """Extend the session by its ttl and say what it holds; None once it has ended."""
        ...

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:
        """End the session at once; what it still holds is up for rescue. Closing twice changes nothing.

        Whoever has *rescued* some of its runs before says how many: it held them at its end, too.
        """
        ...

    async def drain(self, session: SessionId) -> bool:
        """Wish that the session takes no more work, until it is resumed or ends; False once it has ended."""
        ...

    async def resume(self, session: SessionId) -> bool:
        """Take the wish back; False once the session has ended. Asking twice for either changes nothing."""
        ...

    async def live(self, role: Role) -> Sequence[Member]:
        """Sessions whose time isn't up, by name."""
        ...

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        """End sessions whose time is up; return ended ones that may still hold runs, buried now or earlier.

        Each with how many runs it held when it ended, however many of them were rescued since; 0 if nobody knows.
        """
        ...

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        """Runs that the session holds or may hold; never one too few but for the limit."""
        ...

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        """Runs in anybody's hands past their backstop: a live heartbeat can't keep a hung run for ever."""
        ...

    async def audit(self) -> int:
        """Repair indexes of closed time slots and return how many repairs were made; nothing to do on SQL."""
        ...
