"""A store in a few dictionaries, with faults on demand."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from mainspring.domain.ids import DEFAULT_LANE, BlobId, Fence, JobId, Lane, RunId, SessionId
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.run import Attempt, State
from mainspring.domain.suspects import waiting_lane
from mainspring.domain.task import Task
from mainspring.errors import NotFound, SessionLost, StoreError, StoreUnavailable
from mainspring.ports.locks import HeldBy, Lock
from mainspring.ports.output import Printed
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role
from mainspring.ports.work import Claim
from tests.unit.worker.leaps import START, LoopClock


class FakeStore:
    """Work, Sessions, Signals, Locks, Output and Blobs of one small world."""

    def __init__(self) -> None:
        self.runs: dict[RunId, Attempt] = {}
        self.waiting: list[RunId] = []
        self.ended: dict[RunId, Verdict] = {}
        self.verdicts: list[Verdict] = []
        self.groups: list[int] = []
        self.claims: list[int] = []
        self.sessions_opened: list[NewSession] = []
        self.alive: set[SessionId] = set()
        self.closed: list[SessionId] = []
        self.beats: list[News] = []
        self.flagged: set[RunId] = set()
        self.members = 1
        """How many workers there are."""
        self.draining = False
        """What is wished of every session."""
        self.refused: set[RunId] = set()
        """Whose verdicts, and all that come with them, aren't taken."""
        self.unseen: set[RunId] = set()
        """Left out of the answers to heartbeats."""
        self.outputs: list[Printed] = []
        self.blobs: dict[BlobId, bytes] = {}
        self.lock: Lock | None = None
        self.faults: dict[str, list[Exception]] = {}
        """Raised by the verb of that name, one per call, before it does anything."""
        self.lost_answers: dict[str, int] = {}
        """How many calls of the verb do their work but never answer."""
        self.delays: dict[str, timedelta] = {}
        self.notified = asyncio.Event()
        self.summoned = asyncio.Event()
        """Set when something is wished of a session."""
        self.changed = asyncio.Event()
        self._next_id = 0

    def submit(self, handler: str = "work", *, payload: bytes = b"null", suspect: bool = False, **terms: Any) -> RunId:
        self._next_id += 1
        run_id = RunId(UUID(int=self._next_id))
        self.runs[run_id] = Attempt(
            run_id=run_id,
            job_id=JobId(run_id),
            session=SessionId(0),
            fence=Fence(0),
            attempt=0,
            failures=0,
            losses=0,
            due_at=START,
            started_at=START,
            owner="default",
            project="default",
            task=Task(handler=handler, payload=payload, **terms),
            suspect=suspect,
        )
        self.waiting.append(run_id)
        self.notified.set()
        return run_id

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that the store was told makes *condition* true."""
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    async def until_ended(self, count: int) -> None:
        await self.until(lambda: len(self.ended) >= count)

    def last(self, run_id: RunId) -> Verdict:
        return [verdict for verdict in self.verdicts if verdict.run_id == run_id][-1]

    def bury_session(self, session: SessionId) -> None:
        self.alive.discard(session)

    def take_from_holder(self, run_id: RunId) -> None:
        self._hand_over(run_id, SessionId(999))

    # Work

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        await self._call("claim")
        if by not in self.alive:
            raise SessionLost("buried")
        self.claims.append(limit)
        chosen = [run_id for run_id in self.waiting if self._waits_in(run_id) in lanes][:limit]
        for run_id in chosen:
            self.waiting.remove(run_id)
            self._hand_over(run_id, by)
        self._answer("claim")
        full = timedelta(0) if len(chosen) == limit else None
        return Claim(attempts=[self.runs[run_id] for run_id in chosen], next_in=full)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        await self._call("settle")
        if any(verdict.run_id in self.refused for verdict in verdicts):
            self.changed.set()
            raise StoreUnavailable("this can't be stored")
        self.groups.append(len(verdicts))
        answers = [self._apply(verdict) for verdict in verdicts]
        self._answer("settle")
        return answers

    def _apply(self, verdict: Verdict) -> Settled:
        attempt = self.runs.get(verdict.run_id)
        if attempt is None:
            return Settled.STALE
        if verdict.run_id in self.ended:
            return Settled.REPEATED if self.ended[verdict.run_id].fence == verdict.fence else Settled.STALE
        if attempt.fence != verdict.fence:
            return Settled.STALE
        self.verdicts.append(verdict)
        self.flagged.discard(verdict.run_id)
        if verdict.state is State.WAITING:
            self._update(verdict, attempt)
        else:
            self.ended[verdict.run_id] = verdict
        return Settled.ACCEPTED

    def _update(self, verdict: Verdict, attempt: Attempt) -> None:
        self.runs[verdict.run_id] = replace(
            attempt,
            attempt=verdict.attempt,
            failures=verdict.failures,
            losses=verdict.losses,
            log=verdict.log,
            suspect=verdict.suspect,
            fence=Fence(attempt.fence + 1),
            session=SessionId(0),
        )
        if not verdict.delay:
            self.waiting.append(verdict.run_id)

    def _hand_over(self, run_id: RunId, by: SessionId) -> None:
        attempt = self.runs[run_id]
        self.runs[run_id] = replace(attempt, fence=Fence(attempt.fence + 1), session=by, attempt=attempt.attempt + 1)

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        await self._call("next_wake")
        self._answer("next_wake")
        return dict.fromkeys({self._waits_in(run_id) for run_id in self.waiting}.intersection(lanes), timedelta(0))

    def _waits_in(self, run_id: RunId) -> Lane:
        attempt = self.runs[run_id]
        return waiting_lane(attempt.task.lane, suspect=attempt.suspect)

    # Sessions

    async def open(self, session: NewSession) -> SessionId:
        await self._call("open")
        self.sessions_opened.append(session)
        identity = SessionId(len(self.sessions_opened))
        self.alive.add(identity)
        self._answer("open")
        return identity

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        await self._call("beat")
        self.beats.append(news)
        self._answer("beat")
        if by not in self.alive:
            return None
        held = {run_id: self.runs[run_id].fence for run_id in self._held_by(by) if run_id not in self.unseen}
        return Heard(held=held, cancelling=frozenset(self.flagged & held.keys()), draining=self.draining)

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:  # noqa: ARG002 - of the port
        await self._call("close")
        self.alive.discard(by)
        self.closed.append(by)
        self._answer("close")

    async def live(self, role: Role) -> Sequence[Member]:
        await self._call("live")
        self._answer("live")
        return [
            Member(
                id=SessionId(number),
                role=role,
                name=f"worker-{number}",
                host="",
                pid=0,
                capacity=0,
                executing=0,
                lanes=[DEFAULT_LANE],
                opened_at=START,
                beat_at=START,
                skew=timedelta(0),
            )
            for number in range(1, self.members + 1)
        ]

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        await self._call("held")
        self._answer("held")
        return [self.runs[run_id] for run_id in self._held_by(session)][:limit]

    def _held_by(self, session: SessionId) -> list[RunId]:
        return [key for key, each in self.runs.items() if each.session == session and key not in self.ended]

    # Signals

    async def notify(self, _: Sequence[str]) -> None:
        self.notified.set()

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        signal = self.notified if any(topic.startswith("work/") for topic in topics) else self.summoned
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                await signal.wait()
        except TimeoutError:
            return False
        signal.clear()
        return True

    # Output

    async def write(self, outputs: Sequence[Printed]) -> None:
        await self._call("write")
        self.outputs += outputs
        self._answer("write")

    # Blobs

    async def put(self, data: bytes) -> BlobId:
        await self._call("put")
        identity = BlobId(f"blob-{len(self.blobs)}")
        self.blobs[identity] = data
        return identity

    async def get(self, blob_id: BlobId) -> bytes:
        await self._call("get")
        if blob_id not in self.blobs:
            raise NotFound(blob_id)
        return self.blobs[blob_id]

    async def _call(self, verb: str) -> None:
        await asyncio.sleep(self.delays.get(verb, timedelta(0)).total_seconds())
        faults = self.faults.get(verb)
        if faults:
            self.changed.set()
            raise faults.pop(0)

    def _answer(self, verb: str) -> None:
        self.changed.set()
        if self.lost_answers.get(verb, 0) > 0:
            self.lost_answers[verb] -= 1
            raise StoreUnavailable("the answer was lost")


class FakeLocks:
    """One lock after the other, told by the test what becomes of it."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self.held: Lock | None = None
        self.fence = 0
        self.renewals = 0
        self.renewal_faults: list[StoreError] = []

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        now = self._clock.now()
        if self.held is not None and self.held.expires_at > now:
            return HeldBy(holder=self.held.holder, remaining=self.held.expires_at - now)
        self.fence += 1
        self.held = Lock(name=name, holder=holder, fence=Fence(self.fence), expires_at=now + ttl)
        return self.held

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        if self.renewal_faults:
            raise self.renewal_faults.pop(0)
        if self.held is None or self.held.fence != lock.fence:
            return None
        self.renewals += 1
        self.held = Lock(name=lock.name, holder=lock.holder, fence=lock.fence, expires_at=self._clock.now() + ttl)
        return self.held

    async def release(self, lock: Lock) -> bool:
        mine = self.held is not None and self.held.fence == lock.fence
        if mine:
            self.held = None
        return mine

    async def find(self, name: str) -> Lock | None:
        return self.held if self.held is not None and self.held.name == name else None
