"""Whatever is done to a store and to the model in memory, both answer alike and then look alike.

An adapter subclasses the machine, says how an empty store is opened, and gives the machine's `TestCase` a name.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Protocol, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mainspring.domain.ids import JobId, Lane, RunId, SessionId
from mainspring.domain.job import Job, JobState, Terms
from mainspring.domain.outcome import Cancelled, Failed, HandedBack, Lost, Outcome, Settled, Snoozed, Succeeded, judge
from mainspring.domain.plan import Advance, Skip, SkipReason
from mainspring.domain.run import Attempt, NewRun, Run, State
from mainspring.domain.suspects import EXPIRED, RESTARTED, waiting_lane
from mainspring.domain.ticket import Ticket
from mainspring.errors import MainspringError
from mainspring.ports.locks import HeldBy, Lock
from mainspring.ports.sessions import News, Role
from mainspring.ports.views import Cursor, DeadFilter, JobFilter, RunFilter
from mainspring.ports.work import Cancel, Edit, Hold, Order, Release
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts.base import Store
from mainspring.testing.contracts.firing import PERIOD, advance
from mainspring.testing.contracts.tickets import TicketingStore
from mainspring.testing.factories import Factory, a_key, a_session, a_task
from mainspring.testing.model import MemoryStore
from mainspring.testing.model.tables import Tables

T = TypeVar("T")

LANES = [Lane("left"), Lane("right")]
SUSPECTS = [waiting_lane(lane, suspect=True) for lane in LANES]
EVERYTHING = Cursor(limit=10_000)
TICK = timedelta(milliseconds=1)
NOTHING, SOON, FAR = timedelta(0), timedelta(milliseconds=20), timedelta(hours=1)

indexes = st.integers(min_value=0, max_value=1_000)
delays = st.sampled_from([NOTHING, SOON, FAR])
tasks = st.builds(a_task, lane=st.sampled_from(LANES), priority=st.sampled_from([10, 50, 90]))
outcomes = st.sampled_from(
    [
        Succeeded(result=b"1"),
        Failed(error="busy 1", retry_after=SOON),
        Failed(error="broken 2", permanent=True),
        Snoozed(delay=SOON),
        HandedBack(reason="not here"),
        Cancelled(reason="told to"),
        Lost(),
        Lost(shared=EXPIRED),
        Lost(shared=RESTARTED),
    ]
)
orders = st.one_of(
    st.sampled_from([Cancel(reason="not needed"), Hold(), Release(), Edit(name="renamed", expected_version=1)]),
    st.builds(Edit, task=tasks),
    st.builds(Edit, due=delays),
)


class OpenStore(Store, Protocol):
    """A store that can be closed."""

    async def close(self) -> None:
        """Let go of it."""
        ...


class EqualsTheModel(RuleBasedStateMachine):
    """Random life, step by step; time moves before each step, so that no two things happen at once."""

    async def open_store(self, clock: ManualClock) -> OpenStore:
        """An empty store whose now comes from *clock*."""
        raise NotImplementedError

    keeps_wake_times: ClassVar[bool] = False
    """Whether a run whose ticket is out shows since when it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.make = Factory(start=self.clock.now())
        self.runner = asyncio.Runner()
        tables = Tables(clock=self.clock, keeps_wake_times=self.keeps_wake_times)
        self.model = MemoryStore(self.clock, tables=tables)
        self.store = self.runner.run(self.open_store(self.clock))
        self.runs: list[NewRun] = []
        self.jobs: list[JobId] = []
        self.advances: list[Advance] = []
        self.saved: list[Job] = []
        self.attempts: list[Attempt] = []
        self.sessions: list[tuple[SessionId, SessionId]] = []
        self.open_session(name="first")

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.runner.run(self.store.close())
        self.runner.close()

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """Do one thing."""
        return self.runner.run(step)

    def both(self, act: Callable[[Store], Coroutine[Any, Any, T]]) -> tuple[T | str, T | str]:
        """Do the same to the model and to the store; errors that are raised on purpose are answers."""
        self.clock.advance(TICK)
        return self.run(_answer(act(self.model))), self.run(_answer(act(self.store)))

    def alike(self, act: Callable[[Store], Coroutine[Any, Any, T]]) -> T | str:
        """Do the same to both, compare the answers."""
        expected, answered = self.both(act)
        assert answered == expected
        return expected

    @rule(task=tasks, due=delays, owner=st.sampled_from(["ann", "ben"]), key=st.sampled_from([None, "k1", "k2"]))
    def add(self, task: Any, due: timedelta, owner: str, key: str | None) -> None:
        """A one-shot job, now and then under a key that was used before."""
        new = self.make.run(task=task, due=due, owner=owner, key=key and a_key(key, task.lane), name="n")
        self.runs.append(new)
        self.alike(lambda store: store.work.add([new]))

    @precondition(lambda self: self.runs)
    @rule(index=indexes, together=st.booleans())
    def add_again(self, index: int, together: bool) -> None:
        """A reply was lost, and something new is in the same batch."""
        batch = [_pick(self.runs, index), self.make.run(lane=LANES[0], key=a_key("k1", "other"))]
        self.runs.append(batch[1])
        self.alike(lambda store: store.work.add(batch, together=together))

    @precondition(lambda self: self.runs)
    @rule(index=indexes)
    def requeue(self, index: int) -> None:
        """A run of the same job; nobody retries what still lives."""
        old = _pick(self.runs, index)
        known = self.run(self.model.views.run(old.id))
        if known is None or not known.state.terminal:
            return
        new = self.make.run(job_id=old.job_id, task=old.task, origin=old.id, owner=old.owner)
        self.runs.append(new)
        self.alike(lambda store: store.work.add([new]))

    @rule(task=tasks)
    def add_job(self, task: Any) -> None:
        """A standing job whose first moments have come."""
        new = self.make.new_job(task=task, fires_at=self.clock.now() - 3 * PERIOD)
        self.jobs.append(new.job.id)
        self.alike(lambda store: store.work.add([new]))

    @rule(index=indexes, lanes=st.sampled_from([LANES, LANES[:1], LANES[1:], SUSPECTS]), limit=st.sampled_from([2, 4]))
    def claim(self, index: int, lanes: list[Lane], limit: int) -> None:
        """Which of several lanes comes first is the store's business; an even limit hands over the same either way."""
        mine, theirs = _pick(self.sessions, index)
        expected, answered = self.both(
            lambda store: store.work.claim(mine if store is self.model else theirs, lanes, limit)
        )
        if isinstance(expected, str) or isinstance(answered, str):
            assert answered == expected
            return
        assert answered.next_in == expected.next_in
        for lane in lanes:
            ours = [attempt for attempt in expected.attempts if _came_from(attempt, lane)]
            assert [replace(item, session=mine) for item in answered.attempts if _came_from(item, lane)] == ours
        self.attempts += expected.attempts

    @precondition(lambda self: self.attempts)
    @rule(index=indexes, outcome=outcomes)
    def settle(self, index: int, outcome: Outcome) -> None:
        """By whoever ever held a run. What a refusal is called may depend on what the store remembers."""
        attempt = _pick(self.attempts, index)
        told = judge(attempt, outcome, now=attempt.started_at, uniform=0.0)
        theirs = dict(self.sessions)[attempt.session]

        async def act(store: Store) -> bool:
            session = told.session if store is self.model or told.session is None else theirs
            return list(await store.work.settle([replace(told, session=session)])) == [Settled.ACCEPTED]

        self.alike(act)

    @precondition(lambda self: self.runs)
    @rule(index=indexes, order=orders)
    def steer(self, index: int, order: Order) -> None:
        """Any order to any run."""
        run_id = _pick(self.runs, index).id
        self.alike(lambda store: store.work.steer(run_id, order))

    @precondition(lambda self: self.runs)
    @rule(index=indexes)
    def discard(self, index: int) -> None:
        """Of dead letters and of others."""
        run_id = _pick(self.runs, index).id
        self.alike(lambda store: _listed(store.work.discard([run_id])))

    @precondition(lambda self: self.runs)
    @rule(index=indexes)
    def hide(self, index: int) -> None:
        """Ended ones only."""
        job_id = _pick(self.runs, index).job_id
        self.alike(lambda store: store.work.hide(job_id))

    @rule()
    def prune(self) -> None:
        """What is old; how many rows that are is the store's business."""

        async def act(store: Store) -> None:
            while await store.upkeep.prune(FAR, 100):
                pass

        self.both(act)

    @precondition(lambda self: self.jobs)
    @rule(index=indexes, makes_run=st.booleans(), cancels=st.booleans())
    def fire(self, index: int, makes_run: bool, cancels: bool) -> None:
        """As the timetable stands."""
        record = self.run(self.model.views.job(_pick(self.jobs, index)))
        if record is None or record.job.next_fire_at is None:
            return
        job, moment = record.job, record.job.next_fire_at
        skip = Skip(job_id=job.id, first=moment, last=moment, count=2, reason=SkipReason.OVERLAP)
        step = advance(job, *([] if makes_run else [skip]), makes_run=makes_run)
        step = replace(step, cancel=job.active_run if cancels else None)
        self.advances.append(step)
        self.runs += step.runs
        self.alike(lambda store: _listed(store.timetable.fire([step])))

    @precondition(lambda self: self.advances)
    @rule(index=indexes)
    def fire_again(self, index: int) -> None:
        """As the timetable stood some time ago."""
        step = _pick(self.advances, index)
        self.alike(lambda store: _listed(store.timetable.fire([step])))

    @precondition(lambda self: self.jobs)
    @rule(index=indexes, state=st.sampled_from(JobState), stale=st.booleans())
    def save(self, index: int, state: JobState, stale: bool) -> None:
        """Pause, resume, delete or rename, as it stands or as it once stood."""
        record = self.run(self.model.views.job(_pick(self.jobs, index)))
        if record is None:
            return
        expected = _pick(self.saved, index) if stale and self.saved else record.job
        self.saved.append(record.job)
        edited = replace(expected, state=state, name=f"name-{index}", updated_at=self.clock.now() + TICK)
        mine, theirs = self.both(lambda store: store.timetable.save(edited, expected))
        # A deleted job may be gone or may have moved on; both are refusals.
        assert theirs == mine or (isinstance(mine, str) and isinstance(theirs, str))

    @rule(name=st.sampled_from(["first", "second"]))
    def open_session(self, name: str) -> None:
        """Ids are the store's own."""
        new = a_session(name, handlers={"test.echo": LANES[0]}, ttl=FAR)
        mine, theirs = self.both(lambda store: store.sessions.open(new))
        assert isinstance(mine, int)
        assert isinstance(theirs, int)
        self.sessions.append((mine, theirs))

    @rule(index=indexes)
    def beat(self, index: int) -> None:
        """By live and ended ones."""
        mine, theirs = _pick(self.sessions, index)
        news = News(executing=index, drained=index % 2 == 0, trouble=None if index % 3 else f"lack {index}")
        self.alike(lambda store: store.sessions.beat(mine if store is self.model else theirs, news))

    @rule(index=indexes, draining=st.booleans())
    def wish(self, index: int, draining: bool) -> None:
        """Of live and ended ones."""
        mine, theirs = _pick(self.sessions, index)

        async def ask(store: Store) -> bool:
            session = mine if store is self.model else theirs
            return await (store.sessions.drain(session) if draining else store.sessions.resume(session))

        self.alike(ask)

    @rule(index=indexes)
    def close(self, index: int) -> None:
        """Once or again."""
        mine, theirs = _pick(self.sessions, index)
        self.alike(lambda store: store.sessions.close(mine if store is self.model else theirs))

    @rule()
    def bury(self) -> None:
        """The same sessions, each by its own id."""
        expected, answered = self.both(lambda store: _items(store.sessions.bury(100)))
        ids = dict(self.sessions)
        assert sorted(answered) == sorted((ids[mine], held) for mine, held in cast("Any", expected))

    @rule(by=st.sampled_from([SOON, FAR + SOON]))
    def time_passes(self, by: timedelta) -> None:
        """A little, or enough for everything to be over."""
        self.clock.advance(by)

    @rule(holder=st.sampled_from(["ann", "ben"]), releases=st.booleans())
    def lock(self, holder: str, releases: bool) -> None:
        """Taken, and perhaps given up again."""

        async def take(store: Store) -> tuple[Lock | HeldBy, bool]:
            taken = await store.locks.acquire("door", holder, SOON * 2)
            return taken, isinstance(taken, Lock) and taken.taken_over

        lock = self.alike(take)[0]
        if releases and isinstance(lock, Lock):
            self.alike(lambda store: store.locks.release(lock))
        self.alike(lambda store: store.locks.find("door"))

    @invariant()
    def look_alike(self) -> None:
        """Everything that anybody can see."""
        self.alike(_seen_runs)
        self.alike(_seen_jobs)
        self.alike(_seen_letters)
        self.alike(_seen_figures)
        self.alike(_seen_sessions)
        self.alike(_seen_timetable)
        self.alike(lambda store: store.work.next_wake([*LANES, *SUSPECTS]))
        self.alike(lambda store: store.views.suspects())


class EqualsTheModelWithTickets(EqualsTheModel):
    """The same for stores that work with a broker."""

    def __init__(self) -> None:
        self.tickets: list[Ticket] = []
        super().__init__()

    @rule(lanes=st.sampled_from([LANES, LANES[:1], LANES[1:]]), limit=st.sampled_from([2, 100]), grace=delays)
    def take(self, lanes: list[Lane], limit: int, grace: timedelta) -> None:
        """Of several lanes a few are whichever the store finds first, so that then all are taken."""
        most = limit if len(lanes) == 1 else 100
        taken = self.alike(lambda store: _taken(store, lanes, most, grace))
        if not isinstance(taken, str):
            self.tickets += taken

    @precondition(lambda self: self.tickets)
    @rule(index=indexes, session=indexes)
    def start(self, index: int, session: int) -> None:
        """By whoever, with tickets new and old."""
        mine, theirs = _pick(self.sessions, session)
        tickets = [_pick(self.tickets, index), _pick(self.tickets, index + 1), _pick(self.tickets, index)]
        expected, answered = self.both(lambda store: _started(store, mine if store is self.model else theirs, tickets))
        if isinstance(expected, str) or isinstance(answered, str):
            assert answered == expected
            return
        assert [attempt and replace(attempt, session=mine) for attempt in answered] == expected
        self.attempts += [attempt for attempt in expected if attempt is not None]


def _pick(items: list[T], index: int) -> T:
    """The newest for zero: what is new is what shrinks best."""
    return items[-1 - index % len(items)]


async def _answer(step: Awaitable[T]) -> T | str:
    try:
        return await step
    except MainspringError as error:
        return type(error).__name__


async def _taken(store: Store, lanes: Sequence[Lane], limit: int, grace: timedelta) -> list[Ticket]:
    taken = await cast("TicketingStore", store).tickets.take(lanes, limit, grace)
    return sorted(taken, key=lambda ticket: (ticket.lane, -ticket.priority, ticket.wake_at))


async def _started(store: Store, by: SessionId, tickets: Sequence[Ticket]) -> list[Attempt | None]:
    return list(await cast("TicketingStore", store).tickets.start(by, tickets))


def _came_from(attempt: Attempt, lane: Lane) -> bool:
    return waiting_lane(attempt.task.lane, suspect=attempt.suspect) == lane


async def _items(step: Awaitable[Mapping[SessionId, int]]) -> list[tuple[SessionId, int]]:
    return [*(await step).items()]


async def _listed(step: Awaitable[Any]) -> list[Any]:
    return list(await step)


def _comparable(run: Run | None) -> Run | None:
    """Without what a store may keep or forget: the traces of the last attempt while a run is alive."""
    if run is None:
        return None
    if run.state is State.RUNNING:
        return replace(run, wake_at=None, error=None, reason=None)
    if run.state is State.WAITING:
        return replace(run, worker=None, started_at=None)
    if run.state is State.SKIPPED:
        # Nothing is executed, so that a payload may be left out.
        return replace(run, task=replace(run.task, payload=b"", blob=None))
    return replace(run, cancelling=False)


async def _seen_runs(store: Store) -> list[Run | None]:
    return [_comparable(run) for run in (await store.views.runs(RunFilter(), EVERYTHING)).items]


async def _seen_jobs(store: Store) -> list[tuple[Job, Run | None]]:
    records = (await store.views.jobs(JobFilter(), EVERYTHING)).items
    return [(_standing(record.job), _comparable(record.run)) for record in records]


def _standing(job: Job) -> Job:
    """One-shot jobs have no timetable: what a store shows in its place is its own."""
    if job.terms.schedule == "@every 5m":
        return job
    return replace(job, next_fire_at=None, wake_at=None, active_run=None, terms=Terms(), updated_at=job.created_at)


async def _seen_letters(store: Store) -> list[tuple[RunId, str]]:
    letters = (await store.views.dead_letters(DeadFilter(), EVERYTHING)).items
    return [(letter.run.id, letter.fingerprint) for letter in letters]


async def _seen_figures(store: Store) -> object:
    figures = await store.views.figures()
    tallies = {
        (tally.owner, tally.lane, tally.origin): (
            (tally.added, tally.started, tally.retried, tally.lost, tally.running, tally.waited),
            {state: count for state, count in tally.ended.items() if count},
            [bucket for bucket in enumerate(tally.waits) if bucket[1]],
        )
        for tally in figures.tallies
    }
    nothing: object = ((0, 0, 0, 0, 0, timedelta(0)), {}, [])
    return {key: value for key, value in tallies.items() if value != nothing}, figures.dead_letters


async def _seen_sessions(store: Store) -> object:
    return [
        (item.name, item.executing, item.beat_at, item.opened_at, item.draining, item.drained, item.trouble)
        for item in await store.sessions.live(Role.WORKER)
    ]


async def _seen_timetable(store: Store) -> object:
    due = await store.timetable.due(1_000)
    return [(item.job, item.active) for item in due.jobs], due.next_in
