"""A log line for each execution that fails, is lost or left out, as many as anybody can read.

A line has no payload, and of an error the first line, shortened and without what looks like a password or a key. The
whole error is where it has always been: in the execution, for whoever may read that.
"""

import asyncio
import re
from datetime import timedelta
from typing import Any

from mainspring.domain.job import Job
from mainspring.domain.outcome import Verdict
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.run import Attempt, State
from mainspring.logs import get_logger
from mainspring.ports.time import Clock
from mainspring.wiring.setting import MASK

LINES = 20
INTERVAL = timedelta(seconds=10)
"""Of each kind so many lines in so much time; one more then says how many were left out."""
LONGEST_ERROR = 200
_LONGEST_READ = 1000

_URL = re.compile(
    r"(\b[a-zA-Z][\w+.-]*://)"
    # People write passwords as they are: with @, and with a slash, where what follows the colon is no port.
    r"(?:[^\s/]*@|[^\s/:\[]*:(?!\d*(?:[/?#\s]|$))[^\s\"'<>]*@)?"
    r"([^\s?#\"'<>]*)([?#][^\s\"'<>]*)?"
)
_NAMES_OF_KEYS = (
    r"pass(?:word|wd|phrase)?|pwd|secret|token|credential|authorization|signature|(?:api|access|private)[_-]?key"
)
_ASSIGNED = re.compile(
    rf"((?<![A-Za-z])[\w-]{{0,40}}(?:{_NAMES_OF_KEYS})[\w-]{{0,40}}[\"']?\s*[=:]\s*)"
    r"(?:(?:bearer|basic)\s+)?(?:[bru]{0,2}(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?)|[^\s,;&]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)

log = get_logger("mainspring.executions")


class LoggedIncidents:
    """`Incidents` as log lines. What goes wrong is known by the metrics; these say which execution it was."""

    def __init__(self, clock: Clock, *, lines: int = LINES, interval: timedelta = INTERVAL) -> None:
        self._clock = clock
        self._lines = lines
        self._interval = interval.total_seconds()
        self._written: dict[str, int] = {}
        """How many lines of each kind were due in its interval, which began with the first of them."""
        self._ends: dict[str, asyncio.TimerHandle] = {}

    def failed(self, attempt: Attempt, verdict: Verdict) -> None:
        """As `Incidents.failed`."""
        if verdict.state is State.WAITING:
            event = "attempt.lost" if verdict.session is not None else "attempt.failed"
            if self._has_room(event):
                next_try = (self._clock.now() + verdict.delay).isoformat()
                log.warning(event, **_about(attempt), error=presentable(verdict.error), next_try=next_try)
        elif self._has_room("execution.failed"):
            log.error("execution.failed", **_about(attempt), error=presentable(verdict.error), reason=verdict.reason)

    def stale(self, verdict: Verdict) -> None:
        """As `Incidents.stale`."""
        if self._has_room("outcome.stale"):
            log.warning("outcome.stale", **_named(verdict), outcome=verdict.state.name.lower())

    def refused(self, verdict: Verdict, reason: str) -> None:
        """As `Incidents.refused`."""
        if self._has_room("settle.refused"):
            log.error("settle.refused", **_named(verdict), error=presentable(reason))

    def clamped(self, attempt: Attempt, verdict: Verdict) -> None:
        """As `Incidents.clamped`."""
        if self._has_room("wait.clamped"):
            log.warning("wait.clamped", **_about(attempt), days=verdict.delay.days)

    def skipped(self, job: Job, skip: Skip) -> None:
        """As `Incidents.skipped`."""
        event = "schedule.misfired" if skip.reason is SkipReason.MISFIRE else "schedule.skipped"
        if self._has_room(event):
            write = log.warning if skip.reason is SkipReason.MISFIRE else log.info
            first, last = skip.first.isoformat(), skip.last.isoformat()
            write(event, **_of_job(job), reason=skip.reason.value, first=first, last=last, count=skip.count)

    def unplannable(self, job: Job, error: Exception) -> None:
        """As `Incidents.unplannable`."""
        if self._has_room("job.unplannable"):
            log.error("job.unplannable", **_of_job(job), schedule=job.terms.schedule, error=repr(error), exc_info=error)

    def close(self) -> None:
        """Say what was left out so far, and begin all intervals anew."""
        for event in list(self._ends):
            self._end(event)

    def _has_room(self, event: str) -> bool:
        written = self._written.get(event, 0) + 1
        self._written[event] = written
        if written == 1:
            self._ends[event] = asyncio.get_running_loop().call_later(self._interval, self._end, event)
        return written <= self._lines

    def _end(self, event: str) -> None:
        self._ends.pop(event).cancel()
        left_out = self._written.pop(event) - self._lines
        if left_out > 0:
            log.warning("lines.left_out", of=event, count=left_out, limit=f"{self._lines} in {self._interval:g} s")


def presentable(error: str | None) -> str | None:
    """The first line of *error*, short, in one line on any terminal, without what looks like a secret."""
    if error is None:
        return None
    line = error.strip()[:_LONGEST_READ].partition("\n")[0]
    line = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
    line = _URL.sub(_open_part, line)
    line = _ASSIGNED.sub(rf"\1{MASK}", line)
    line = _BEARER.sub(rf"\1 {MASK}", line)
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 1] + "…"


def _open_part(url: re.Match[str]) -> str:
    """A URL without user, password and query: keys stand in either."""
    return url[1] + url[2] + (f"{url[3][0]}{MASK}" if url[3] else "")


def _about(attempt: Attempt) -> dict[str, Any]:
    return {
        "handler": attempt.task.handler,
        "job": str(attempt.job_id),
        "execution": str(attempt.run_id),
        "owner": attempt.owner,
        "attempt": attempt.attempt,
    }


def _named(verdict: Verdict) -> dict[str, Any]:
    return {"execution": str(verdict.run_id), "attempt": verdict.attempt, "token": verdict.fence}


def _of_job(job: Job) -> dict[str, Any]:
    return {"handler": job.task.handler, "job": str(job.id), "name": job.name, "owner": job.owner}
