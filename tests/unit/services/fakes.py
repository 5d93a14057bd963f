"""The ports as small scripts: each answers what a test put in, and remembers what it was asked."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mainspring.domain.ids import Fence, JobId, Lane, RunId, SessionId
from mainspring.domain.job import Job, NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.plan import Advance, DueJob, Skip
from mainspring.domain.run import Attempt, NewRun
from mainspring.domain.task import Task
from mainspring.errors import StoreError
from mainspring.ports.audit import Entry, Recorded
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role
from mainspring.ports.timetable import Due
from mainspring.ports.work import Added, Claim, Note, Order, Steered

MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def everything(_: str) -> bool:
    return True


def nothing(_: str) -> bool:
    return False


class FakeClock:
    """Whoever sleeps on it moves it."""

    def __init__(self) -> None:
        self.elapsed = timedelta(0)
        self.slept: list[timedelta] = []
        self._stop = asyncio.Event()
        self._last_nap = 0

    def stop_at_nap(self, number: int) -> asyncio.Event:
        """An event that is set as soon as somebody goes to sleep for the *number*-th time."""
        self._last_nap = number
        return self._stop

    def now(self) -> datetime:
        return MIDNIGHT + self.elapsed

    def monotonic(self) -> float:
        return self.elapsed.total_seconds()

    async def sleep(self, duration: timedelta) -> None:
        self.slept.append(duration)
        if len(self.slept) == self._last_nap:
            self._stop.set()
        self.elapsed += duration
        await asyncio.sleep(0)


class FakeRandom:
    def bits(self, count: int) -> int:
        return (1 << count) - 1

    def uniform(self) -> float:
        return 0.5


class FakeSignals:
    """Waiting moves the clock to the end of the wait, unless a signal was put in."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.notified: list[tuple[str, ...]] = []
        self.waited: list[tuple[tuple[str, ...], timedelta]] = []
        self.pending = 0

    async def notify(self, topics: Sequence[str]) -> None:
        self.notified.append(tuple(topics))

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        self.waited.append((tuple(topics), at_most))
        if self.pending:
            self.pending -= 1
            return True
        await self.clock.sleep(at_most)
        return False


class FakeTimetable:
    """Says what is due from a script, and lets advances of the jobs in *refused* lose."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.script: deque[tuple[Sequence[DueJob], timedelta | None]] = deque()
        self.refused: list[JobId] = []
        self.fired: list[Advance] = []
        self.fire_takes = timedelta(0)
        self.away = False
        """Whether it says no to every advance."""
        self.ahead = timedelta(0)
        """By how much the store's clock was set."""
        self.limits: list[int] = []
        self.shards: list[frozenset[int] | None] = []

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        raise NotImplementedError

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:
        self.limits.append(limit)
        self.shards.append(shards)
        jobs, next_in = self.script.popleft() if self.script else ((), None)
        return Due(jobs=jobs, now=self.clock.now() + self.ahead, next_in=next_in)

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        self.clock.elapsed += self.fire_takes
        if self.away:
            raise StoreError("away")
        self.fired += advances
        return [advance.job_id not in self.refused for advance in advances]


def member(name: str, role: Role = Role.SCHEDULER, lanes: Sequence[str] = ()) -> Member:
    return Member(
        id=SessionId(1),
        role=role,
        name=name,
        host="",
        pid=0,
        capacity=0,
        executing=0,
        lanes=[Lane(lane) for lane in lanes],
        opened_at=MIDNIGHT,
        beat_at=MIDNIGHT,
        skew=timedelta(0),
    )


class FakeSessions:
    """Sessions are numbered; *lost* ones don't answer beats; *holdings* leave once they were settled."""

    def __init__(self) -> None:
        self.opened: list[NewSession] = []
        self.beats: list[SessionId] = []
        self.closed: list[SessionId] = []
        self.lost: list[SessionId] = []
        self.error: Exception | None = None
        self.members: list[Member] = []
        self.looks: list[Role] = []
        self.ended: list[SessionId] = []
        self.held_at_end: dict[SessionId, int] = {}
        """Where it isn't what *holdings* say."""
        self.burials = 0
        self.holdings: dict[SessionId, list[Attempt]] = {}
        self.late: list[Attempt] = []
        self.overdue_looks = 0
        self.repairs = 0

    async def open(self, session: NewSession) -> SessionId:
        self.opened.append(session)
        return SessionId(len(self.opened))

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        assert news.clock is not None
        if self.error is not None:
            raise self.error
        self.beats.append(by)
        return None if by in self.lost else Heard(held={}, cancelling=frozenset())

    async def drain(self, session: SessionId) -> bool:
        raise NotImplementedError

    async def resume(self, session: SessionId) -> bool:
        raise NotImplementedError

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:  # noqa: ARG002 - of the port
        if self.error is not None:
            raise self.error
        self.closed.append(by)

    async def live(self, role: Role) -> Sequence[Member]:
        self.looks.append(role)
        return [member for member in self.members if member.role is role]

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        self.burials += 1
        if self.error is not None:
            raise self.error
        return {
            session: self.held_at_end.get(session, len(self.holdings.get(session, ())))
            for session in self.ended[:limit]
        }

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        return self.holdings.get(session, [])[:limit]

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        self.overdue_looks += 1
        return self.late[:limit]

    async def audit(self) -> int:
        return self.repairs


def attempt(
    session: int = 1, *, run: int = 1, lane: str = "default", losses: int = 0, log: bytes = b"", suspect: bool = False
) -> Attempt:
    return Attempt(
        run_id=RunId(UUID(int=run)),
        job_id=JobId(UUID(int=run)),
        session=SessionId(session),
        fence=Fence(1),
        attempt=1,
        failures=0,
        losses=losses,
        due_at=MIDNIGHT,
        started_at=MIDNIGHT,
        owner="default",
        project="default",
        task=Task(handler="report", lane=Lane(lane)),
        log=log,
        suspect=suspect,
    )


class FakeWork:
    """Accepts verdicts on what *sessions* hold or are late with, and takes it out of their hands."""

    def __init__(self, sessions: FakeSessions) -> None:
        self.sessions = sessions
        self.settled: list[Verdict] = []
        self.stale = False
        self.wakes: dict[Lane, timedelta] = {}
        self.looks: list[tuple[Lane, ...]] = []

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        raise NotImplementedError

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        raise NotImplementedError

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        if self.stale:
            return [Settled.STALE] * len(verdicts)
        self.settled += verdicts
        ids = [verdict.run_id for verdict in verdicts]
        for held in (*self.sessions.holdings.values(), self.sessions.late):
            held[:] = [attempt for attempt in held if attempt.run_id not in ids]
        return [Settled.ACCEPTED] * len(verdicts)

    async def steer(self, run: RunId, order: Order) -> Steered:
        raise NotImplementedError

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        raise NotImplementedError

    async def hide(self, job: JobId) -> bool:
        raise NotImplementedError

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        self.looks.append(tuple(lanes))
        return {lane: wait for lane, wait in self.wakes.items() if lane in lanes}


class FakeUpkeep:
    """Has so many rows to prune and to fold."""

    def __init__(self) -> None:
        self.old = 0
        self.tallies = 0
        self.pruned: list[timedelta] = []
        self.folds = 0

    async def prune(self, older_than: timedelta, limit: int) -> int:
        self.pruned.append(older_than)
        removed = min(self.old, limit)
        self.old -= removed
        return removed

    async def fold(self, limit: int) -> int:
        self.folds += 1
        folded = min(self.tallies, limit)
        self.tallies -= folded
        return folded


class FakeAudit:
    def __init__(self) -> None:
        self.unchained = 0
        self.error: StoreError | None = None

    async def append(self, entries: Sequence[Entry]) -> None:
        raise NotImplementedError

    async def page(
        self, *, owner: str | None, job_id: JobId | None, before: int | None, limit: int
    ) -> Sequence[Recorded]:
        raise NotImplementedError

    async def chain(self, limit: int) -> int:
        if self.error is not None:
            raise self.error
        chained = min(self.unchained, limit)
        self.unchained -= chained
        return chained

    async def verify(self) -> int | None:
        raise NotImplementedError
