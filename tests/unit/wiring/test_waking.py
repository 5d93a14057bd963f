import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from unittest.mock import AsyncMock

import pytest

from mainspring.adapters.system.clock import SystemClock
from mainspring.domain.ids import Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun
from mainspring.ports.work import Added, Addition, Cancel, Edit, Effect, Hold, Order, Release, Steered
from mainspring.testing.factories import Factory, a_task
from mainspring.wiring.waking import Waker, WakingSessions, WakingTimetable, WakingWork

FAST = Lane("fast")


class Recorder:
    """Signals that only note what was sent."""

    def __init__(self) -> None:
        self.sent: list[Sequence[str]] = []
        self._arrived: asyncio.Queue[Sequence[str]] = asyncio.Queue()

    async def notify(self, topics: Sequence[str]) -> None:
        self.sent.append(list(topics))
        self._arrived.put_nowait(list(topics))

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        raise AssertionError((topics, at_most))

    async def next(self) -> Sequence[str]:
        async with asyncio.timeout(30):
            return await self._arrived.get()


@pytest.fixture
def signals() -> Recorder:
    return Recorder()


@pytest.fixture
def store() -> AsyncMock:
    store = AsyncMock()
    store.add.side_effect = lambda items, **_: [Added(Addition.CREATED, _id(item)) for item in items]
    return store


@pytest.fixture
def work(signals: Recorder, store: AsyncMock) -> WakingWork:
    return WakingWork(store, views=store, waker=Waker(signals), clock=SystemClock())


def _id(item: NewRun | NewJob) -> RunId:
    return RunId(item.job.id if isinstance(item, NewJob) else item.id)


async def test_runs_that_are_due_wake_their_lanes_and_standing_jobs_the_planner(
    work: WakingWork, signals: Recorder
) -> None:
    factory = Factory()
    soon = SystemClock().now() + timedelta(milliseconds=500)
    await work.add(
        [
            factory.run(),
            factory.run(),
            factory.run(task=a_task(lane=FAST), due=soon),
            factory.run(task=a_task(lane=Lane("later")), due=timedelta(minutes=1)),
            NewJob(job=factory.job()),
        ]
    )
    assert await signals.next() == ["work/default", "work/fast", "timetable"]


async def test_lanes_are_told_what_is_coming_before_the_store_is_asked(signals: Recorder, store: AsyncMock) -> None:
    told: list[Sequence[str]] = []

    def add(items: Sequence[NewRun], **_: object) -> Sequence[Added]:
        told.append(["stored"])
        return [Added(Addition.EXISTING, _id(item)) for item in items]

    def foretell(topics: Sequence[str]) -> bool:
        told.append(topics)
        return False

    store.add.side_effect = add
    work = WakingWork(store, views=store, waker=Waker(signals, foretell), clock=SystemClock())
    await work.add([Factory().run()])
    assert told == [["coming/default"], ["stored"]]


@pytest.mark.parametrize("waited", [True, False])
async def test_what_somebody_waited_to_hear_is_signalled_after_a_pause_to_all_others(
    signals: Recorder, store: AsyncMock, waited: bool
) -> None:
    work = WakingWork(store, views=store, waker=Waker(signals, lambda _: waited), clock=SystemClock())
    await work.add([Factory().run()])
    await asyncio.sleep(0)
    assert bool(signals.sent) is not waited
    assert await signals.next() == ["work/default"]


async def test_what_was_not_stored_wakes_nobody(work: WakingWork, signals: Recorder, store: AsyncMock) -> None:
    store.add.side_effect = lambda items, **_: [Added(Addition.EXISTING, _id(item)) for item in items]
    await work.add([Factory().run()])
    await asyncio.sleep(0)
    assert signals.sent == []


@pytest.mark.parametrize("order", [Release(), Edit(due=timedelta(0))])
async def test_a_run_that_is_let_go_wakes_its_lane(
    work: WakingWork, signals: Recorder, store: AsyncMock, order: Order
) -> None:
    store.steer.return_value = Steered(effect=Effect.DONE)
    store.run.return_value.task = a_task(lane=FAST)
    await work.steer(Factory().run().id, order)
    assert await signals.next() == ["work/fast"]


@pytest.mark.parametrize("order", [Cancel(), Hold()])
async def test_other_orders_wake_nobody(work: WakingWork, signals: Recorder, store: AsyncMock, order: Order) -> None:
    store.steer.return_value = Steered(effect=Effect.DONE)
    await work.steer(Factory().run().id, order)
    await asyncio.sleep(0)
    assert signals.sent == []


async def test_a_saved_job_wakes_the_planner(signals: Recorder, store: AsyncMock) -> None:
    job = Factory().job()
    await WakingTimetable(store, waker=Waker(signals)).save(replace(job, name="new"), job)
    assert await signals.next() == ["timetable"]


async def test_a_burst_is_two_signals_the_first_at_once_and_one_for_all_the_rest(signals: Recorder) -> None:
    waker = Waker(signals)
    for _ in range(100):
        waker.wake(["a"])
    assert await signals.next() == ["a"]
    waker.wake(["b"])
    # Which comes first depends on how long the first one took to be seen.
    assert sorted(map(list, [await signals.next(), await signals.next()])) == [["a"], ["b"]]
    await waker.close()
    assert len(signals.sent) == 3


async def test_closing_sends_what_is_held_back(signals: Recorder) -> None:
    waker = Waker(signals)
    waker.wake(["a"])
    waker.wake(["a"])
    await waker.close()
    assert signals.sent == [["a"], ["a"]]


async def test_a_worker_of_which_something_is_wished_is_woken(signals: Recorder, store: AsyncMock) -> None:
    sessions = WakingSessions(store, waker=Waker(signals))
    for number, wish in enumerate((sessions.drain, sessions.resume)):
        assert await wish(SessionId(number)) is getattr(store, wish.__name__).return_value
        assert await signals.next() == [f"session/{number}"]


async def test_everything_else_is_passed_on(work: WakingWork, store: AsyncMock) -> None:
    timetable = WakingTimetable(store, waker=Waker(Recorder()))
    sessions = WakingSessions(store, waker=Waker(Recorder()))
    for verb, arguments in {
        work.claim: (1, ["default"], 5),
        work.settle: ([],),
        work.discard: ([],),
        work.hide: (1,),
        work.next_wake: (["default"],),
        timetable.due: (10, None),
        timetable.fire: ([],),
        sessions.open: (1,),
        sessions.beat: (1, 2),
        sessions.live: ("worker",),
        sessions.bury: (10,),
        sessions.held: (1, 10),
        sessions.overdue: (10,),
        sessions.audit: (),
    }.items():
        name = verb.__name__
        assert await verb(*arguments) is getattr(store, name).return_value  # type: ignore[operator]  # of many shapes
        getattr(store, name).assert_awaited_once_with(*arguments)
