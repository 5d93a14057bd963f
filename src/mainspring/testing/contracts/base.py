"""What every suite asks of an adapter, and the steps that several suites take.

An adapter's module has one class of fixtures (`store`, `time`, and `second_store` where two handles on one store can
exist) and one class per contract that inherits from both, fixtures first. Time passes only through `Time.pass_`, and
a suite never relies on little time having passed: it works on a server with a clock of its own.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

import pytest

from mainspring.domain.ids import DEFAULT_LANE, JobId, Lane, RunId, SessionId
from mainspring.domain.job import Job
from mainspring.domain.outcome import Failed, Outcome, Settled, Verdict, judge
from mainspring.domain.run import Attempt, NewRun, Run, State
from mainspring.ports.audit import Audit
from mainspring.ports.blobs import Blobs
from mainspring.ports.changes import Changes
from mainspring.ports.keys import Keys
from mainspring.ports.locks import Locks
from mainspring.ports.output import Output
from mainspring.ports.sessions import Sessions
from mainspring.ports.timetable import Timetable
from mainspring.ports.upkeep import Upkeep
from mainspring.ports.views import Views
from mainspring.ports.work import Addition, Work
from mainspring.testing.clock import Time
from mainspring.testing.factories import Factory, a_session

SHORT = timedelta(milliseconds=20)
"""A time to live, a delay or an age that `pass_(LONGER)` outlasts."""
LONGER = timedelta(milliseconds=40)
FAR = timedelta(hours=1)
"""A delay that no test outlasts."""
DEFAULT_LANES = (DEFAULT_LANE,)


class Store(Protocol):
    """All ports of one store. Attributes are read-only here, so that an adapter may name its own classes."""

    @property
    def timetable(self) -> Timetable: ...
    @property
    def work(self) -> Work: ...
    @property
    def sessions(self) -> Sessions: ...
    @property
    def locks(self) -> Locks: ...
    @property
    def views(self) -> Views: ...
    @property
    def blobs(self) -> Blobs: ...
    @property
    def upkeep(self) -> Upkeep: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def output(self) -> Output: ...
    @property
    def changes(self) -> Changes: ...


class Extremes(Protocol):
    """What no verb brings about at once: years do, or an older version did."""

    async def fill_up(self) -> None:
        """Add up what can be, and make each total there is as large as the store can keep it."""
        ...

    async def put_off(self, run_id: RunId) -> None:
        """Let a waiting run wake after the year 9999."""
        ...


class StoreContract:
    """The fixtures behind every suite of a store; an adapter overrides the first two or three."""

    has_transactions: ClassVar[bool] = True
    """Whether what is added at once is stored all or nothing, and in its order."""
    lock_skew: ClassVar[timedelta] = timedelta(0)
    """How long a lock that has run out is left alone by others: more where processes go by clocks of their own."""

    @pytest.fixture
    async def store(self) -> Store:
        """An empty store."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    @pytest.fixture
    def time(self) -> Time:
        """How time passes for the store."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    @pytest.fixture
    def extremes(self, store: Store) -> Extremes:
        """The same store by a way around its verbs."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    @pytest.fixture
    async def second_store(self, store: Store) -> Store:
        """The same data through another handle; the same handle where there can't be two."""
        return store

    @pytest.fixture
    async def make(self, store: Store) -> Factory:
        """Builders whose ids begin at the store's now."""
        return Factory(start=await store.views.now())


async def a_worker(store: Store, name: str = "worker-1", *, ttl: timedelta | None = None) -> SessionId:
    """A session that may claim; it outlives the test unless *ttl* is given."""
    return await store.sessions.open(a_session(name) if ttl is None else a_session(name, ttl=ttl))


async def added(store: Store, *runs: NewRun) -> None:
    """Store runs that nothing stands against."""
    answers = await store.work.add(runs)
    assert [answer.kind for answer in answers] == [Addition.CREATED] * len(runs)


async def claimed(
    store: Store, by: SessionId, limit: int = 100, lanes: Sequence[Lane] = DEFAULT_LANES
) -> Sequence[Attempt]:
    """What a claim hands over."""
    return (await store.work.claim(by, lanes, limit)).attempts


async def claimed_one(store: Store, by: SessionId) -> Attempt:
    """The one run that waits in the default lane."""
    (attempt,) = await claimed(store, by)
    return attempt


async def held(store: Store, by: SessionId, run: NewRun) -> Attempt:
    """Store *run*, alone in its lane, and hand it over."""
    await added(store, run)
    (attempt,) = await claimed(store, by, lanes=[run.task.lane])
    return attempt


def verdict(attempt: Attempt, outcome: Outcome) -> Verdict:
    """What the core makes of *outcome*."""
    return judge(attempt, outcome, now=attempt.started_at, uniform=0.0)


async def settled(store: Store, attempt: Attempt, outcome: Outcome) -> Settled:
    """Settle one attempt."""
    (answer,) = await store.work.settle([verdict(attempt, outcome)])
    return answer


async def dead(store: Store, by: SessionId, run: NewRun, error: str = "broken") -> Run:
    """Store *run*, alone in its lane, and let it die."""
    attempt = await held(store, by, run)
    assert await settled(store, attempt, Failed(error=error, permanent=True)) is Settled.ACCEPTED
    return await seen(store, run.id)


async def seen(store: Store, run_id: RunId) -> Run:
    """The run as it stands."""
    run = await store.views.run(run_id)
    assert run is not None
    return run


async def state_of(store: Store, run_id: RunId) -> State:
    """The state that the run is in."""
    return (await seen(store, run_id)).state


async def job_of(store: Store, job_id: JobId) -> Job:
    """The job as it stands."""
    record = await store.views.job(job_id)
    assert record is not None
    return record.job


async def past(store: Store, seconds: int = 1) -> datetime:
    """An instant so long ago, in whole milliseconds as every store can keep it."""
    return whole(await store.views.now()) - timedelta(seconds=seconds)


def whole(instant: datetime) -> datetime:
    """The instant without the part below a millisecond."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
