"""Follows what changes on behalf of every open event stream of this process.

One follower reads the store, at most five times a second and only while somebody listens; each audience's text is
made once, however many streams it has. Above 200 changes a second they become counts.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from mainspring.api.stream import Stream
from mainspring.api.telling import Audience, Event, chunk, events_of, mark, reset_event, run_event, worker_events
from mainspring.domain.ids import JobId, RunId
from mainspring.domain.run import State
from mainspring.errors import MainspringError
from mainspring.logs import get_logger
from mainspring.ports.changes import Batch, Changes, Position, RunChange
from mainspring.ports.sessions import Member, Role, Sessions
from mainspring.ports.time import Clock

PAUSE = timedelta(milliseconds=200)
MOST_PER_SECOND = 200
WORKERS_EVERY = 1.0
KEEP_ALIVE = 15.0
RETRY = b"retry: 2000\n"
_KEPT_ALIVE = b": still here\n\n"

log = get_logger("mainspring.api")


class TooManyStreams(MainspringError):
    """There is no room for another stream; the message says what to do."""


class Follower:
    """The source of all streams. It rests while there are none, and ends them when the process is *ending*."""

    def __init__(
        self, *, changes: Changes, sessions: Sessions, clock: Clock, ending: Callable[[], bool], most: int
    ) -> None:
        """At most *most* streams at a time, and half as many of one owner among several."""
        self._most = most
        self._changes = changes
        self._sessions = sessions
        self._clock = clock
        self._ending = ending
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._streams: dict[Audience, dict[Stream, None]] = {}
        self._position = Position("")
        self._running: Mapping[RunId, RunChange] | None = None
        self._workers: Mapping[int, Member] | None = None
        self._allowance = float(MOST_PER_SECOND)
        self._stepped_at = self._looked_at = self._spoke_at = 0.0

    @property
    def streams(self) -> int:
        """How many are open."""
        return sum(map(len, self._streams.values()))

    async def join(self, audience: Audience, after: Position | None) -> tuple[Stream, bytes]:
        """A stream of what changes from now on, and the text to begin with: what happened after *after*.

        TooManyStreams if there is no room for another.
        """
        stream = Stream()
        async with self._starting:
            if self._task is None:
                await self._start()
            self._check_room(audience)
            self._streams.setdefault(audience, {})[stream] = None
        try:
            return stream, RETRY + await self._missed(audience, after)
        except BaseException:
            self.leave(audience, stream)
            raise

    def leave(self, audience: Audience, stream: Stream) -> None:
        """Feed the stream no more; leaving twice changes nothing."""
        streams = self._streams.get(audience, {})
        streams.pop(stream, None)
        if not streams:
            self._streams.pop(audience, None)
        if not self._streams and self._task is not None:
            # Nothing is read for nobody, nor from a store that is closed after its last reader has gone.
            self._task.cancel()
            self._task = None

    def _check_room(self, audience: Audience) -> None:
        """Raise TooManyStreams; an audience without an owner is that of an API that is open to everybody."""
        if self.streams >= self._most:
            raise TooManyStreams("close some, or ask another process")
        own = sum(len(streams) for each, streams in self._streams.items() if each.owner == audience.owner)
        if audience.owner is not None and own >= max(1, self._most // 2):
            raise TooManyStreams("one owner has half of all there may be; close some")

    async def _start(self) -> None:
        self._position = await self._changes.position()
        self._running = self._workers = None
        self._stepped_at = self._spoke_at = self._clock.monotonic()
        self._looked_at = self._stepped_at - WORKERS_EVERY
        self._task = asyncio.create_task(self._follow(), name="events")

    async def _missed(self, audience: Audience, after: Position | None) -> bytes:
        """What came after *after*. Live events are kept from before this reads, so that none falls in between."""
        if after is None:
            return mark(self._position) + b"\n"
        watched = [] if audience.job_id is None else [JobId(audience.job_id)]
        batch = await self._changes.since(after, most=MOST_PER_SECOND, watched=watched)
        if batch is None:
            return reset_event(await self._changes.position())
        text, _ = chunk(events_of(batch), batch, audience)
        return text or mark(batch.position) + b"\n"

    async def _follow(self) -> None:
        try:
            while self._streams and not self._ending():
                await self._clock.sleep(PAUSE)
                try:
                    await self._step()
                except MainspringError as error:
                    log.warning("events.store_unavailable", error=str(error))
                self._keep_alive()
        finally:
            # Whoever cancelled it has let go of it: streams that came since are another's.
            if self._task is asyncio.current_task():
                self._task = None
                for stream in [each for streams in self._streams.values() for each in streams]:
                    stream.end(b"retry: 1000\n\n")

    async def _step(self) -> None:
        now = self._clock.monotonic()
        self._allowance = min(MOST_PER_SECOND, self._allowance + MOST_PER_SECOND * (now - self._stepped_at))
        self._stepped_at = now
        watched = [JobId(each) for each in dict.fromkeys(map(_job, self._streams)) if each is not None]
        batch = await self._changes.since(self._position, most=int(self._allowance), watched=watched)
        if batch is None:
            self._position, self._running = await self._changes.position(), None
            self._tell_all(reset_event(self._position))
            return
        events = [*events_of(batch), *map(run_event, self._moved(batch)), *await self._worker_news(now)]
        self._position, self._running = batch.position, batch.running
        # What was only counted is charged too: as long as there is too much, all of it is counted.
        self._allowance = max(0.0, self._allowance - len(events) - batch.counted)
        if events or batch.counts is not None:
            self._tell(events, batch)

    def _tell(self, events: Sequence[Event], batch: Batch) -> None:
        for audience, streams in self._streams.items():
            text, number = chunk(events, batch, audience)
            if number:
                for stream in streams:
                    stream.put(text, number)

    def _tell_all(self, text: bytes, events: int = 1) -> None:
        for streams in self._streams.values():
            for stream in streams:
                stream.put(text, events)

    def _keep_alive(self) -> None:
        """Say something now and then, so that nobody in between takes the connection for dead; and where we are."""
        now = self._clock.monotonic()
        if now - self._spoke_at >= KEEP_ALIVE:
            self._spoke_at = now
            self._tell_all(mark(self._position) + _KEPT_ALIVE, 0)

    def _moved(self, batch: Batch) -> Sequence[RunChange]:
        """Runs that came into or left workers' hands without being told: started, or put back into the queue."""
        before, now = self._running, batch.running
        if before is None or now is None or batch.counts is not None:
            return []
        told = {run.id for run in batch.runs}
        started = [run for run in now.values() if run.id not in before or run.fence != before[run.id].fence]
        left = [replace(run, state=State.WAITING, worker=None) for run in before.values() if run.id not in now]
        return [run for run in (*started, *left) if run.id not in told]

    async def _worker_news(self, now: float) -> Sequence[Event]:
        if now - self._looked_at < WORKERS_EVERY:
            return []
        self._looked_at = now
        before, members = self._workers, await self._sessions.live(Role.WORKER)
        self._workers = {int(member.id): member for member in members}
        return [] if before is None else worker_events(before, self._workers)


def _job(audience: Audience) -> UUID | None:
    return audience.job_id
