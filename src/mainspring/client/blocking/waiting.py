# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/waiting.py. Don't edit.
"""Calls that wait: for events, and for results."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from mainspring.client.blocking.executions import ExecutionCalls
from mainspring.client.concurrency import closing, sleep
from mainspring.client.errors import ApiError, JobCancelled, JobFailed, ResultTimeout, Unavailable
from mainspring.client.models import Event, Execution, Job
from mainspring.client.requests import query
from mainspring.client.retrying import Retrying
from mainspring.client.streaming import EventReader

SILENCE = timedelta(seconds=60)
"""A stream on which nothing came for so long, not even a comment, is taken for broken."""
LISTEN = timedelta(seconds=5)
"""How long to listen for news of a result before looking for oneself."""
_POLLING = Retrying(tries=1_000_000, first=timedelta(milliseconds=50), longest=timedelta(seconds=2))


class WaitingCalls(ExecutionCalls):
    """Events as they happen, and results as soon as they are there."""

    _retrying: Retrying

    def events(self, last_event_id: str | None = None, *, job: Job | UUID | str | None = None) -> Iterator[Event]:
        """Changes of jobs, executions and workers, or of one *job*, from now or after *last_event_id*, without an end.

        What a type means is in the reference of the API; after `counts` and `reset`, read again what you need.
        A broken connection is made again and goes on where it broke; Unavailable when that fails for too long.
        """
        reader = EventReader(last_event_id)
        job_id = job.id if isinstance(job, Job) else job
        failures = 0
        while True:
            try:
                with closing(self._listen(reader, job_id, SILENCE)) as heard:
                    for event in heard:
                        failures = 0
                        yield event
            except Unavailable as error:
                failures += 1
                pause = self._retrying.pause(failures, error.retry_after)
                if pause is None:
                    raise
                sleep(pause)
            else:
                sleep(timedelta(milliseconds=reader.retry_ms or 100))

    def result(self, of: Job | Execution | UUID | str, *, timeout: timedelta | None = None) -> Any:
        """What the handler returned, as soon as it has; an id is a job's, of which the latest execution counts.

        JobFailed if it failed for good, JobCancelled if it never will end otherwise, ResultTimeout after *timeout*.
        """
        ended = self.ended(of, timeout=timeout)
        if ended.status == "COMPLETED":
            return ended.result
        if ended.status == "FAILED":
            reason = (ended.error or "no reason given").splitlines()[0]
            raise JobFailed(f"execution {ended.id} failed: {reason}", ended)
        raise JobCancelled(f"execution {ended.id} was {ended.status.lower()}: no result will come", ended)

    def ended(self, of: Job | Execution | UUID | str, *, timeout: timedelta | None = None) -> Execution:
        """The execution, as soon as it has ended, however it has; ResultTimeout after *timeout*."""
        give_up_at = None if timeout is None else time.monotonic() + timeout.total_seconds()
        polls = 0
        reader = EventReader()
        streaming = True
        found = self._look(of)
        while found is None or not found.ended:
            left = LISTEN if give_up_at is None else timedelta(seconds=give_up_at - time.monotonic())
            if left <= timedelta(0):
                raise ResultTimeout(f"no result within {timeout}; the job goes on")
            if streaming:
                streaming, found = self._hear(of, reader, min(left, LISTEN))
            else:
                polls += 1
                sleep(min(_POLLING.pause(polls) or LISTEN, left))
                found = self._look(of)
        return found

    def _hear(
        self, of: Job | Execution | UUID | str, reader: EventReader, at_most: timedelta
    ) -> tuple[bool, Execution | None]:
        """Look again at each event about it; False if there are no events to be had here."""
        until = time.monotonic() + at_most.total_seconds()
        try:
            with closing(self._listen(reader, _job_id(of), at_most, opening=True)) as heard:
                for event in heard:
                    if event.type != "worker":
                        found = self._look(of)
                        if found is not None and found.ended:
                            return True, found
                    if time.monotonic() >= until:
                        break
        except Unavailable:
            # Silence or a broken stream: look for oneself, and listen again.
            return True, self._look(of)
        except ApiError:
            return False, self._look(of)
        return True, self._look(of)

    def _listen(
        self, reader: EventReader, job_id: UUID | str | None, silence: timedelta, *, opening: bool = False
    ) -> Iterator[Event]:
        """The events of one connection; with *opening* one that says that the stream has begun comes first."""
        last = reader.last_event_id
        headers = {"Accept": "text/event-stream", **({} if last is None else {"Last-Event-ID": last})}
        reader.break_off()
        with self._connection.lines("/events", query(job_id=job_id), headers, silence) as lines:
            if opening:
                yield Event(id="", type="opened", data=None)
            for line in lines:
                event = reader.feed(line)
                if event is not None:
                    yield event

    def _look(self, of: Job | Execution | UUID | str) -> Execution | None:
        if isinstance(of, Execution):
            return self.execution(of)
        with closing(self.executions(job=of, limit=1)) as latest:
            for execution in latest:
                return self.execution(execution) if execution.ended else execution
        return None


def _job_id(of: Job | Execution | UUID | str) -> UUID | str:
    match of:
        case Job():
            return of.id
        case Execution():
            return of.job_id
        case _:
            return of
