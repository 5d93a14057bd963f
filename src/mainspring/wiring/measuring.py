"""The one instrumentation: wrapped around the ports, so that no store and no service has to think of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from mainspring.api.measurements import Measurements
from mainspring.domain.ids import BlobId, Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import HandedBack, Lost, Outcome, Settled, Verdict
from mainspring.domain.plan import Advance
from mainspring.domain.run import Attempt, NewRun
from mainspring.domain.ticket import Ticket
from mainspring.errors import StoreError
from mainspring.ports.audit import Audit
from mainspring.ports.blobs import Blobs
from mainspring.ports.broker import Broker, Connection, Delivery, Message
from mainspring.ports.changes import Changes
from mainspring.ports.checkup import Checkup
from mainspring.ports.keys import Keys
from mainspring.ports.locks import Bookmark, HeldBy, HeldPage, Lock, Locks
from mainspring.ports.observing import OUTCOME_WORDS
from mainspring.ports.output import Output
from mainspring.ports.sessions import Heard, News, Sessions
from mainspring.ports.tickets import Tickets
from mainspring.ports.time import Clock
from mainspring.ports.timetable import Due, Timetable
from mainspring.ports.tracing import trace_id_of
from mainspring.ports.transactions import Transactions
from mainspring.ports.upkeep import Upkeep
from mainspring.ports.views import Views
from mainspring.ports.work import Added, Claim, Note, Order, Steered, Work
from mainspring.services.space import Space
from mainspring.wiring.forwarding import ForwardingSessions, ForwardingTimetable, ForwardingWork
from mainspring.wiring.stores import Store


class Stopwatch:
    """Measures what the store is asked for."""

    def __init__(self, measurements: Measurements, clock: Clock, space: Space | None = None) -> None:
        self.measurements = measurements
        self.space = space or Space()
        self._monotonic = clock.monotonic

    def operation(self, name: str) -> "_Operation":
        """One batch, whether it succeeds or not."""
        return _Operation(name, self.measurements, self.space, self._monotonic)

    @contextmanager
    def lock(self, operation: str) -> Iterator[None]:
        """One compare-and-set on a lock."""
        began = self._monotonic()
        try:
            yield
        except StoreError:
            self.measurements.lock_operations.add(operation, "error")
            raise
        finally:
            self.measurements.lock_seconds.observe(self._monotonic() - began)


class _Operation:
    """Written out, since it surrounds each addition: made from a generator, it takes more than twice as long."""

    __slots__ = ("_began", "_measurements", "_monotonic", "_name", "_space")

    def __init__(self, name: str, measurements: Measurements, space: Space, monotonic: Callable[[], float]) -> None:
        self._name = name
        self._measurements = measurements
        self._space = space
        self._monotonic = monotonic

    def __enter__(self) -> None:
        self._began = self._monotonic()

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._measurements.store_seconds.observe(self._monotonic() - self._began, self._name)
        if isinstance(error, StoreError):
            self._measurements.store_errors.add(self._name)
            self._space.refused(error)


class MeasuredWork(ForwardingWork):
    """`Work` with its verbs timed."""

    def __init__(self, work: Work, stopwatch: Stopwatch) -> None:
        super().__init__(work)
        self._time = stopwatch.operation

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """As `Work.add`."""
        with self._time("add"):
            return await self._work.add(items, together=together, note=note)

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """As `Work.claim`."""
        with self._time("claim"):
            return await super().claim(by, lanes, limit)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """As `Work.settle`."""
        with self._time("settle"):
            return await super().settle(verdicts)

    async def steer(self, run: RunId, order: Order) -> Steered:
        """As `Work.steer`."""
        with self._time("steer"):
            return await super().steer(run, order)


class WatchedSessions(ForwardingSessions):
    """`Sessions` whose heartbeats tell when the store is full, also while nobody submits anything."""

    def __init__(self, sessions: Sessions, space: Space) -> None:
        super().__init__(sessions)
        self._space = space

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """As `Sessions.beat`."""
        with self._space.watched():
            return await super().beat(by, news)


class MeasuredTickets:
    """`Tickets` with its verbs timed, and those counted that were worth nothing."""

    def __init__(self, tickets: Tickets, stopwatch: Stopwatch) -> None:
        self._tickets = tickets
        self._time = stopwatch.operation
        self._count = stopwatch.measurements.tickets.add

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """As `Tickets.take`."""
        with self._time("take"):
            return await self._tickets.take(lanes, limit, grace)

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        """As `Tickets.start`."""
        with self._time("start"):
            answers = await self._tickets.start(by, tickets)
        self._count("refused", by=sum(answer is None for answer in answers))
        return answers


class MeasuredBroker:
    """`Broker` with the messages counted that went and came."""

    def __init__(self, broker: Broker, measurements: Measurements) -> None:
        self._broker = broker
        self._count = measurements.tickets.add

    @property
    def connection(self) -> Connection:
        """As `Broker.connection`."""
        return self._broker.connection

    async def publish(self, topic: str, messages: Sequence[Message]) -> bool:
        """As `Broker.publish`."""
        published = await self._broker.publish(topic, messages)
        self._count("published" if published else "unpublished", by=len(messages))
        return published

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        """As `Broker.receive`."""
        deliveries = await self._broker.receive(topics, limit, wait)
        self._count("received", by=len(deliveries))
        return deliveries

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """As `Broker.acknowledge`."""
        await self._broker.acknowledge(deliveries)


class MeasuredTimetable(ForwardingTimetable):
    """`Timetable` with its verbs timed."""

    def __init__(self, timetable: Timetable, stopwatch: Stopwatch) -> None:
        super().__init__(timetable)
        self._time = stopwatch.operation
        self._count = stopwatch.measurements.skips.add

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:
        """As `Timetable.due`."""
        with self._time("due"):
            return await super().due(limit, shards)

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """As `Timetable.fire`."""
        with self._time("fire"):
            fired = await super().fire(advances)
        for advance in (advance for advance, applied in zip(advances, fired, strict=True) if applied):
            for skip in advance.skips:
                self._count(skip.reason.value)
        return fired


class MeasuredLocks:
    """`Locks` with each compare-and-set timed, and counted by what came of it."""

    def __init__(self, locks: Locks, stopwatch: Stopwatch) -> None:
        self._locks = locks
        self._time = stopwatch.lock
        self._count = stopwatch.measurements.lock_operations.add

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock | HeldBy:
        """As `Locks.acquire`."""
        with self._time("acquire"):
            answer = await self._locks.acquire(name, holder, ttl)
        if isinstance(answer, Lock):
            self._count("takeover" if answer.taken_over else "acquire", "ok")
        else:
            self._count("acquire", "refused")
        return answer

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock | None:
        """As `Locks.renew`."""
        with self._time("renew"):
            renewed = await self._locks.renew(lock, ttl)
        self._count("renew", "refused" if renewed is None else "ok")
        return renewed

    async def release(self, lock: Lock) -> bool:
        """As `Locks.release`."""
        with self._time("release"):
            released = await self._locks.release(lock)
        self._count("release", "ok" if released else "refused")
        return released

    async def find(self, name: str) -> Lock | None:
        """As `Locks.find`."""
        return await self._locks.find(name)

    async def held(self, owner: str, *, after: Bookmark | None = None, limit: int) -> HeldPage:
        """As `Locks.held`."""
        return await self._locks.held(owner, after=after, limit=limit)


class MeasuredBlobs:
    """`Blobs` with what goes in and out counted."""

    def __init__(self, blobs: Blobs, stopwatch: Stopwatch) -> None:
        self._blobs = blobs
        self._count = stopwatch.measurements.blobs.add
        self._space = stopwatch.space

    async def put(self, data: bytes) -> BlobId:
        """As `Blobs.put`."""
        with self._space.watched():
            stored = await self._blobs.put(data)
        self._count("upload")
        return stored

    async def get(self, blob_id: BlobId) -> bytes:
        """As `Blobs.get`."""
        data = await self._blobs.get(blob_id)
        self._count("download")
        return data


_TIMELESS = frozenset({HandedBack, Lost})


class MeasuredAttempts:
    """`Observer` that counts what a worker has executed; an attempt that was given up before its end took no time."""

    def __init__(self, measurements: Measurements) -> None:
        self._count = measurements.attempts.add
        self._seconds = measurements.job_seconds
        self._measurements = measurements

    def began(self, attempt: Attempt) -> None:
        """Nothing is counted that isn't known by its end."""

    def ended(self, attempt: Attempt, outcome: Outcome, seconds: float) -> None:
        """As `Observer.ended`."""
        kind = type(outcome)
        self._count(attempt.task.handler, OUTCOME_WORDS[kind])
        if kind not in _TIMELESS:
            self._seconds.observe(seconds, trace_id=trace_id_of(attempt.task.trace))

    def refused(self, count: int) -> None:
        """As `Observer.refused`."""
        self._measurements.verdicts_refused = count

    def exhausted(self, lack: str) -> None:
        """As `Observer.exhausted`."""
        self._measurements.shortages.add(lack)

    def unreadable(self) -> None:
        """As `Observer.unreadable`."""
        self._measurements.tickets.add("unreadable")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStore:
    """A store whose ports are measured; what isn't, is the store's own."""

    timetable: Timetable
    work: Work
    locks: Locks
    blobs: Blobs
    sessions: Sessions
    views: Views
    upkeep: Upkeep
    audit: Audit
    keys: Keys
    output: Output
    changes: Changes
    transactions: Transactions | None
    checkup: Checkup | None
    tickets: Tickets
    heartbeat: Callable[[], AbstractAsyncContextManager[Sessions]] | None
    shards: int
    schema: int
    identity: str
    inner: Store

    @classmethod
    def over(
        cls, store: Store, measurements: Measurements, clock: Clock, space: Space | None = None
    ) -> "MeasuredStore":
        """The same store, measured; *space* is told of writes that find no room, and of those that do."""
        stopwatch = Stopwatch(measurements, clock, space)
        return cls(
            timetable=MeasuredTimetable(store.timetable, stopwatch),
            work=MeasuredWork(store.work, stopwatch),
            locks=MeasuredLocks(store.locks, stopwatch),
            blobs=MeasuredBlobs(store.blobs, stopwatch),
            sessions=WatchedSessions(store.sessions, stopwatch.space),
            views=store.views,
            upkeep=store.upkeep,
            audit=store.audit,
            keys=store.keys,
            output=store.output,
            changes=store.changes,
            transactions=store.transactions,
            checkup=store.checkup,
            tickets=MeasuredTickets(store.tickets, stopwatch),
            heartbeat=store.heartbeat,
            shards=store.shards,
            schema=store.schema,
            identity=store.identity,
            inner=store,
        )

    async def close(self) -> None:
        """As `Store.close`."""
        await self.inner.close()
