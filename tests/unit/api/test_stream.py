import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from starlette.types import Message

from mainspring.api.events import EventStream
from mainspring.api.follower import KEEP_ALIVE, PAUSE, Follower
from mainspring.api.stream import MOST_HELD, Stream
from mainspring.api.telling import Audience
from mainspring.domain.ids import JobId
from mainspring.errors import StoreUnavailable
from mainspring.ports.changes import Batch, Position
from mainspring.ports.work import Work
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory
from mainspring.testing.model import MemoryStore
from mainspring.testing.model.changes import MemoryChanges

EVERYBODY = Audience(None)
TURNS = 20
"""Turns of the loop after which everything that could go on has."""


async def turns() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def follower(store: MemoryStore, clock: ManualClock) -> Follower:
    return Follower(changes=store.changes, sessions=store.sessions, clock=clock, ending=lambda: False, most=1000)


async def test_what_waits_is_taken_at_once() -> None:
    stream = Stream()
    stream.put(b"one", 1)
    stream.put(b"two", 1)
    assert await stream.next() == b"onetwo"
    stream.end(b"last")
    stream.put(b"too late", 1)
    assert await stream.next() == b"last"
    assert await stream.next() is None


async def test_a_reader_that_keeps_up_is_never_dropped() -> None:
    stream = Stream()
    for _ in range(10):
        stream.put(b"x", MOST_HELD)
        assert await stream.next() == b"x"


async def test_a_reader_that_falls_behind_is_dropped_with_a_hint() -> None:
    stream = Stream()
    stream.put(b"x", MOST_HELD)
    stream.put(b"y", 1)
    text = await stream.next()
    assert text is not None
    assert text.startswith(b"retry: 1000\nevent: slow\n")
    assert b"x" not in text.partition(b"event")[0]
    assert await stream.next() is None


async def step(clock: ManualClock) -> None:
    """Let the follower look once."""
    await turns()
    clock.advance(PAUSE)
    await turns()


class Reader:
    """The server's side of a connection that takes nothing until it is told to."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.reading = asyncio.Event()
        self.gone = asyncio.Event()

    async def send(self, message: Message) -> None:
        await self.reading.wait()
        self.taken.append(message)

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.taken)


async def added(work: Work, make: Factory, count: int) -> None:
    await work.add(make.runs(count))


async def test_a_slow_reader_costs_a_bounded_buffer_and_hears_why_it_was_dropped(
    follower: Follower, store: MemoryStore, clock: ManualClock
) -> None:
    reader, make = Reader(), Factory()
    answering = asyncio.create_task(EventStream(follower, EVERYBODY, None)({}, reader.receive, reader.send))
    for _ in range(10):
        await added(store.work, make, 40)
        await step(clock)
    assert follower.streams == 1
    reader.reading.set()
    await answering
    assert follower.streams == 0
    assert reader.text.count(b"event: run") == 0
    assert reader.text.count(b"event: slow") == 1
    assert reader.taken[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_a_reader_that_takes_nothing_at_all_is_cut_off(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.api.events.PATIENCE", 0.01)
    reader = Reader()

    async def only_headers(message: Message) -> None:
        if message["type"] == "http.response.body":
            await reader.reading.wait()

    await EventStream(follower, EVERYBODY, None)({}, reader.receive, only_headers)
    assert follower.streams == 0


async def test_a_reader_that_leaves_is_forgotten(follower: Follower) -> None:
    reader = Reader()
    reader.reading.set()
    answering = asyncio.create_task(EventStream(follower, EVERYBODY, None)({}, reader.receive, reader.send))
    await turns()
    assert follower.streams == 1
    reader.gone.set()
    await answering
    assert follower.streams == 0


async def test_a_silent_stream_is_kept_alive_and_told_where_it_is(
    follower: Follower, store: MemoryStore, clock: ManualClock
) -> None:
    stream, _ = await follower.join(Audience("nobody"), None)
    await added(store.work, Factory(), 3)
    await step(clock)
    clock.advance(timedelta(seconds=KEEP_ALIVE))
    await step(clock)
    assert await stream.next() == b"id: 3\n: still here\n\n"


async def test_nobody_reads_the_store_while_nobody_listens(store: MemoryStore, clock: ManualClock) -> None:
    class Counting(MemoryChanges):
        asked = 0

        async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
            self.asked += 1
            return await super().since(position, most=most, watched=watched)

    changes = Counting(store.tables)
    follower = Follower(changes=changes, sessions=store.sessions, clock=clock, ending=lambda: False, most=1000)
    stream, _ = await follower.join(EVERYBODY, None)
    await step(clock)
    assert changes.asked == 1
    follower.leave(EVERYBODY, stream)
    for _ in range(10):
        await step(clock)
    assert changes.asked <= 2
    again, _ = await follower.join(EVERYBODY, None)
    await added(store.work, Factory(), 1)
    await step(clock)
    assert b"event: run" in (await again.next() or b"")


async def test_a_store_that_is_away_for_a_while_costs_no_event(store: MemoryStore, clock: ManualClock) -> None:
    class Shaky(MemoryChanges):
        away = False

        async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
            if self.away:
                raise StoreUnavailable("away")
            return await super().since(position, most=most, watched=watched)

    changes = Shaky(store.tables)
    follower = Follower(changes=changes, sessions=store.sessions, clock=clock, ending=lambda: False, most=1000)
    stream, _ = await follower.join(EVERYBODY, None)
    changes.away = True
    await added(store.work, Factory(), 2)
    await step(clock)
    changes.away = False
    await step(clock)
    assert (await stream.next() or b"").count(b"event: run") == 2


async def heard_runs(
    follower: Follower, store: MemoryStore, clock: ManualClock, *, per_step: int, steps: int, make: Factory
) -> int:
    """How many runs are named in so many steps of so many changes each."""
    stream, _ = await follower.join(EVERYBODY, None)
    named = 0
    for _ in range(steps):
        await added(store.work, make, per_step)
        await step(clock)
        named += (await stream.next() or b"").count(b"event: run")
    follower.leave(EVERYBODY, stream)
    return named


async def test_above_so_many_changes_a_second_all_are_counted(
    follower: Follower, store: MemoryStore, clock: ManualClock
) -> None:
    make = Factory()
    assert await heard_runs(follower, store, clock, per_step=30, steps=50, make=make) == 50 * 30
    assert await heard_runs(follower, store, clock, per_step=60, steps=50, make=make) < 3 * 200
    assert await heard_runs(follower, store, clock, per_step=60, steps=50, make=make) == 0
    assert await heard_runs(follower, store, clock, per_step=30, steps=50, make=make) >= 49 * 30
