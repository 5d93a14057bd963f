"""Runs: adding, claiming and settling them. Orders are in `steer`."""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from mainspring.domain.ids import Fence, JobId, Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict, fingerprint
from mainspring.domain.retry import LONGEST_DELAY
from mainspring.domain.run import Attempt, NewRun, Run, State
from mainspring.domain.suspects import waiting_lane
from mainspring.domain.task import BACKSTOP
from mainspring.errors import SessionLost
from mainspring.ports.views import LONGEST_WAIT, WAIT_BUCKETS, DeadLetter
from mainspring.ports.work import Added, Addition, Claim, Note, Order, Steered
from mainspring.testing.model.steer import steer
from mainspring.testing.model.tables import Accepted, Tables


class MemoryWork:
    """The `Work` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """First decide about each item, then store those that nothing stands against."""
        answers = self._judged(items)
        if together and any(answer.kind is Addition.CONFLICT for answer in answers):
            return [self._withheld(answer) for answer in answers]
        entries = () if note is None else note(answers)
        for item, answer in zip(items, answers, strict=True):
            if answer.kind is Addition.CREATED:
                self._store(item)
        self._tables.record(entries)
        return answers

    def _judged(self, items: Sequence[NewRun | NewJob]) -> list[Added]:
        accepted = dict(self._tables.accepted)
        known: set[UUID] = {*self._tables.runs, *self._tables.jobs}
        answers: list[Added] = []
        for item in items:
            identity, owner = _identity(item)
            earlier = accepted.get((owner, item.key.text)) if item.key else None
            if item.key and earlier:
                kind = Addition.EXISTING if earlier.body == item.key.body else Addition.CONFLICT
                answers.append(Added(kind, earlier.id))
                continue
            kind = Addition.EXISTING if identity in known else Addition.CREATED
            answers.append(Added(kind, identity, self._tables.now()))
            known.add(identity)
            if item.key:
                accepted[owner, item.key.text] = Accepted(id=identity, body=item.key.body, at=self._tables.now())
        return answers

    def _withheld(self, answer: Added) -> Added:
        stored = answer.id in self._tables.runs or answer.id in self._tables.jobs
        return answer if stored or answer.kind is Addition.CONFLICT else Added(Addition.WITHHELD, answer.id)

    def _store(self, item: NewRun | NewJob) -> None:
        identity, owner = _identity(item)
        if item.key:
            accepted = Accepted(id=identity, body=item.key.body, at=self._tables.now())
            self._tables.accepted[owner, item.key.text] = accepted
        if isinstance(item, NewJob):
            self._tables.jobs[item.job.id] = item.job
            self._tables.changed.append(item.job.id)
            return
        self._tables.create(item)
        if item.origin is not None:
            self._tables.dead.pop(item.origin, None)

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """Take the best of each lane in turn."""
        name = holder(self._tables, by)
        queues = [deque(ready(self._tables, lane)) for lane in dict.fromkeys(lanes)]
        taken: list[Run] = []
        while len(taken) < limit and any(queues):
            for queue in queues:
                if queue and len(taken) < limit:
                    taken.append(queue.popleft())
        attempts = [hand_over(self._tables, run, by, name, self._tables.waits_since(run)) for run in taken]
        waits = self._waits(lanes).values()
        next_in = timedelta(0) if len(attempts) >= limit else min(waits, default=None)
        return Claim(attempts=attempts, next_in=next_in)

    def _waits(self, lanes: Sequence[Lane]) -> dict[Lane, timedelta]:
        now = self._tables.now()
        waits: dict[Lane, timedelta] = {}
        for run in self._tables.live():
            at = self._tables.claimable_at(run)
            lane = waiting_lane(run.task.lane, suspect=run.suspect)
            if run.state is State.WAITING and at is not None and lane in lanes:
                wait = max(at - now, timedelta(0))
                waits[lane] = min(wait, waits.get(lane, wait))
        return waits

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """The shortest wait of each lane that has one."""
        return self._waits(lanes)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """One after the other."""
        return [self._settle(verdict) for verdict in verdicts]

    def _settle(self, verdict: Verdict) -> Settled:
        run = self._tables.runs.get(verdict.run_id)
        if run is None:
            return Settled.STALE
        if run.fence != verdict.fence:
            repeated = self._tables.settled.get(run.id) == verdict.fence
            return Settled.REPEATED if repeated else Settled.STALE
        if run.state.terminal:
            return Settled.REPEATED
        lost = verdict.session is not None
        if lost and self._tables.holders.get(run.id) != verdict.session:
            return Settled.REPEATED if run.state is State.WAITING else Settled.STALE
        self._accept(run, verdict, lost=lost)
        return Settled.ACCEPTED

    def _accept(self, run: Run, verdict: Verdict, *, lost: bool) -> None:
        if lost:
            self._tables.count(run, "lost")
        flagged = run.cancelling and verdict.state is not State.SUCCEEDED
        told = self._tables.change(
            run,
            attempt=verdict.attempt,
            failures=verdict.failures,
            losses=verdict.losses,
            result=verdict.result,
            result_blob=verdict.blob,
            error=verdict.error,
            reason=(run.reason or verdict.reason) if flagged else verdict.reason,
            log=verdict.log,
        )
        if flagged:
            self._tables.end(told, State.CANCELLED)
        elif verdict.state is State.WAITING:
            self._put_back(run, told, verdict, lost=lost)
        else:
            self._end(told, verdict.state)

    def _put_back(self, before: Run, told: Run, verdict: Verdict, *, lost: bool) -> None:
        if told.failures > before.failures:
            self._tables.count(told, "retried")
        if not lost:
            self._tables.settled[told.id] = told.fence
        self._tables.holders.pop(told.id, None)
        fence = told.fence if lost else Fence(told.fence + 1)
        wake_at = self._tables.now() + min(verdict.delay, LONGEST_DELAY)
        self._tables.change(told, state=State.WAITING, fence=fence, wake_at=wake_at, suspect=verdict.suspect)

    def _end(self, told: Run, state: State) -> None:
        ended = self._tables.end(told, state)
        if state is State.DEAD:
            mark = fingerprint(ended.task.handler, ended.error or "")
            self._tables.dead[ended.id] = DeadLetter(run=ended, fingerprint=mark, died_at=self._tables.now())

    async def steer(self, run: RunId, order: Order) -> Steered:
        """See `steer`."""
        return steer(self._tables, run, order)

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        """Those that were on the list are off it now."""
        return [self._tables.dead.pop(run_id, None) is not None for run_id in runs]

    async def hide(self, job: JobId) -> bool:
        """One-shot jobs that live no longer than their cancellation; what nobody sees is no dead letter either."""
        run = self._tables.runs.get(RunId(job))
        if run is None or not run.one_shot or not (run.state.terminal or run.cancelling):
            return False
        self._tables.hidden.add(run.id)
        self._tables.dead.pop(run.id, None)
        return True


def holder(tables: Tables, by: SessionId) -> str:
    """The name of a session that may take runs over."""
    session = tables.sessions.get(by)
    if session is None or session.ended:
        raise SessionLost(f"session {by} has ended")
    return session.new.name


def ready(tables: Tables, lane: Lane) -> list[Run]:
    """Runs of a lane that may start, the best first."""
    now = tables.now()
    found = [
        (-run.task.priority, tables.waits_since(run), run.id)
        for run in tables.live()
        if run.state is State.WAITING and waiting_lane(run.task.lane, suspect=run.suspect) == lane
        if (at := tables.claimable_at(run)) is not None and at <= now
    ]
    return [tables.runs[run_id] for _, _, run_id in sorted(found)]


def hand_over(tables: Tables, run: Run, by: SessionId, name: str, since: datetime | None) -> Attempt:
    """Make a run that has waited *since* then the session's own."""
    now = tables.now()
    assert since is not None
    late = min(max(now - max(since, run.created_at), timedelta(0)), LONGEST_WAIT)
    tables.changed.append(run.id)
    tables.count(run, "started")
    tables.count(run, f"waited {bisect_left(WAIT_BUCKETS, late)}")
    tables.count(run, "waited", late // timedelta(microseconds=1))
    tables.holders[run.id] = by
    tables.settled.pop(run.id, None)
    held = tables.change(
        run,
        state=State.RUNNING,
        fence=Fence(run.fence + 1),
        attempt=run.attempt + 1,
        worker=name,
        started_at=now,
        wake_at=now + run.task.timeout + BACKSTOP,
    )
    return attempt_of(held, by)


def attempt_of(run: Run, session: SessionId) -> Attempt:
    """The run in the hands of *session*."""
    assert run.started_at is not None
    return Attempt(
        run_id=run.id,
        job_id=run.job_id,
        session=session,
        fence=run.fence,
        attempt=run.attempt,
        failures=run.failures,
        losses=run.losses,
        due_at=run.due_at,
        started_at=run.started_at,
        owner=run.owner,
        project=run.project,
        task=run.task,
        worker=run.worker or "",
        log=run.log,
        cancelling=run.cancelling,
        suspect=run.suspect,
    )


def _identity(item: NewRun | NewJob) -> tuple[UUID, str]:
    return (item.job.id, item.job.owner) if isinstance(item, NewJob) else (item.id, item.owner)
