"""Whoever adds or changes something wakes those who wait for it, once the store has answered.

Wrapped around the ports, so that no store and no caller has to think of it. A signal is sent in the background: the
answer never waits for it, and if it is lost, a poll finds the work a moment later.

A store that does everything in the order in which it was asked allows more. The worker of the same loop is told that
work is coming before the store is asked to add it: its claim then follows the addition at once, nearly always into
the same commit, and the run starts after one sync of the disk instead of two. A worker that is claiming at that moment
claims once more. Nothing rests on that either.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from mainspring.domain.ids import Lane, RunId, SessionId
from mainspring.domain.job import Job, NewJob
from mainspring.domain.plan import Skip
from mainspring.domain.run import NewRun
from mainspring.ports.sessions import Sessions
from mainspring.ports.signals import SOON, TIMETABLE, Signals, coming_topic, lane_of, lane_topic, session_topic
from mainspring.ports.time import Clock
from mainspring.ports.timetable import Timetable
from mainspring.ports.views import Views
from mainspring.ports.work import Added, Addition, Edit, Effect, Note, Order, Release, Steered, Work
from mainspring.wiring.forwarding import ForwardingSessions, ForwardingTimetable, ForwardingWork

PAUSE = 0.005
"""Seconds between two signals of one topic."""


class Waker:
    """Sends signals, each topic at most once per pause; what comes during one is sent once at its end."""

    def __init__(self, signals: Signals, foretell: Callable[[Sequence[str]], bool] | None = None) -> None:
        self._signals = signals
        self._foretell = foretell
        self._pausing: dict[str, bool] = {}
        """Topics sent lately, and whether they were asked for again since."""
        self._sending: set[asyncio.Task[None]] = set()

    def foretell(self, topics: Sequence[str]) -> bool:
        """Say that the lanes among *topics* are about to have work, if that isn't too early; whether anybody waits."""
        if self._foretell is None:
            return False
        return self._foretell([coming_topic(lane) for topic in topics if (lane := lane_of(topic)) is not None])

    def wake(self, topics: Sequence[str], *, foretold: bool = False) -> None:
        """Send *topics* at once, or when their pause is over; what was *foretold* can wait for a pause as well."""
        fresh = [topic for topic in topics if topic not in self._pausing]
        for topic in topics:
            self._pausing[topic] = True
        if fresh and foretold:
            self._pause(fresh)
        elif fresh:
            self._send(fresh)

    async def close(self) -> None:
        """Send what is still held back, and wait until it is."""
        held_back = [topic for topic, again in self._pausing.items() if again]
        self._pausing.update(dict.fromkeys(held_back, False))
        if held_back:
            await self._signals.notify(held_back)
        await asyncio.gather(*self._sending)

    def _send(self, topics: Sequence[str]) -> None:
        self._pausing.update(dict.fromkeys(topics, False))
        self._pause(topics)
        sending = asyncio.get_running_loop().create_task(self._signals.notify(topics))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    def _pause(self, topics: Sequence[str]) -> None:
        asyncio.get_running_loop().call_later(PAUSE, self._end_pause, topics)

    def _end_pause(self, topics: Sequence[str]) -> None:
        again = [topic for topic in topics if self._pausing.pop(topic)]
        if again:
            self._send(again)


class WakingWork(ForwardingWork):
    """`Work` that wakes workers when a run is added or let go, and the planner when a standing job is added."""

    def __init__(self, work: Work, *, views: Views, waker: Waker, clock: Clock) -> None:
        super().__init__(work)
        self._views = views
        self._waker = waker
        self._clock = clock

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """As `Work.add`."""
        topics = self._topics(items)
        foretold = self._waker.foretell(topics)
        answers = await self._work.add(items, together=together, note=note)
        stored = [item for item, answer in zip(items, answers, strict=True) if answer.kind is Addition.CREATED]
        if len(stored) < len(items):
            topics = self._topics(stored)
        if topics:
            self._waker.wake(topics, foretold=foretold)
        return answers

    async def steer(self, run: RunId, order: Order) -> Steered:
        """As `Work.steer`."""
        answer = await super().steer(run, order)
        if answer.effect is Effect.DONE and isinstance(order, Release | Edit):
            steered = await self._views.run(run)
            if steered is not None:
                self._waker.wake([lane_topic(steered.task.lane)])
        return answer

    def _topics(self, items: Sequence[NewRun | NewJob]) -> Sequence[str]:
        """The lanes that have something due, or nearly; and the timetable, if there is a standing job."""
        lanes: dict[Lane, str] = {}
        standing, now = False, None
        for item in items:
            if isinstance(item, NewJob):
                standing = True
            elif item.task.lane not in lanes:
                delay = item.due
                if isinstance(delay, datetime):
                    now = now or self._clock.now()
                    delay -= now
                if delay <= SOON:
                    lanes[item.task.lane] = lane_topic(item.task.lane)
        return [*lanes.values(), TIMETABLE] if standing else [*lanes.values()]


class WakingTimetable(ForwardingTimetable):
    """`Timetable` that wakes the planner when a standing job is changed; whoever fires wakes the lanes itself."""

    def __init__(self, timetable: Timetable, *, waker: Waker) -> None:
        super().__init__(timetable)
        self._waker = waker

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """As `Timetable.save`."""
        saved = await super().save(job, expected, skips)
        self._waker.wake([TIMETABLE])
        return saved


class WakingSessions(ForwardingSessions):
    """`Sessions` that brings the next heartbeat of a session forward when something is wished of it."""

    def __init__(self, sessions: Sessions, *, waker: Waker) -> None:
        super().__init__(sessions)
        self._waker = waker

    async def drain(self, session: SessionId) -> bool:
        """As `Sessions.drain`."""
        known = await super().drain(session)
        self._waker.wake([session_topic(session)])
        return known

    async def resume(self, session: SessionId) -> bool:
        """As `Sessions.resume`."""
        known = await super().resume(session)
        self._waker.wake([session_topic(session)])
        return known
