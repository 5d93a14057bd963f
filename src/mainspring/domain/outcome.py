"""What came of an attempt, and what follows from it.

A worker reports an outcome; `judge` turns it into a verdict: the content of the run's row from now on. Stores apply
verdicts by compare-and-set on the fence and decide nothing themselves, but for one rule that only they can hold: a
run that was flagged for cancellation and didn't succeed ends as cancelled.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import assert_never

from mainspring.domain.hot import hot
from mainspring.domain.ids import BlobId, Fence, RunId, SessionId
from mainspring.domain.retry import LONGEST_DELAY, MAX_LOSSES
from mainspring.domain.run import Attempt, State
from mainspring.domain.suspects import SUSPECTED_AT, UNKNOWN, WAITS

MAX_ERROR = 8192
MAX_LOG_ENTRIES = 10
_MAX_LOG_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The handler returned; its result is JSON text, or lies in a blob when it is large."""

    result: bytes | None = None
    blob: BlobId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The handler raised or ran out of time; *permanent* means that trying again is pointless."""

    error: str
    permanent: bool = False
    retry_after: timedelta | None = None
    """A wait that the handler asked for, instead of the policy's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snoozed:
    """The handler asked to be called again later; nothing is charged."""

    delay: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedBack:
    """The attempt never happened: it is taken back, and somebody else may start at once (or after *delay*)."""

    delay: timedelta = timedelta(0)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The run was stopped because somebody asked for it."""

    reason: str = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The holder is gone, or has held on for too long; nobody knows how far it came."""

    reason: str = "session ended"
    shared: int | None = None
    """None if nothing else was lost with it: then the loss is charged. Otherwise what it says against the run."""


Outcome = Succeeded | Failed | Snoozed | HandedBack | Cancelled | Lost


class Settled(StrEnum):
    """How the store took a verdict."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    """This very hand-over was settled before; nothing changed."""
    STALE = "stale"
    """Somebody else has taken the run since; nothing changed."""


@hot
class Verdict:
    """What a run's row says once this is settled; applied only where the fence is still the one named here."""

    run_id: RunId
    fence: Fence
    session: SessionId | None = None
    """Given when a holder was judged by others (a loss): then the session must match too, and the fence stays, so
    that the holder's own late result still counts until somebody else has claimed."""
    state: State
    delay: timedelta = timedelta(0)
    attempt: int
    failures: int
    losses: int
    suspect: bool = False
    """Whether a run that waits from now on must run alone."""
    result: bytes | None = None
    blob: BlobId | None = None
    error: str | None = None
    reason: str | None = None
    log: bytes = b""


def judge(attempt: Attempt, outcome: Outcome, *, now: datetime, uniform: float) -> Verdict:
    """Decide what follows: the only place that knows budgets and backoff; *now* is for display only."""
    match outcome:
        case Succeeded():  # nearly always, and therefore without a detour
            return Verdict(
                run_id=attempt.run_id,
                fence=attempt.fence,
                state=State.SUCCEEDED,
                attempt=attempt.attempt,
                failures=attempt.failures,
                losses=attempt.losses,
                result=outcome.result,
                blob=outcome.blob,
                log=attempt.log,
            )
        case Failed():
            return _failed(attempt, outcome, now, uniform)
        case Snoozed(delay=delay):
            return _again(attempt, delay=delay, log=_extended(attempt, "snoozed", None, now))
        case HandedBack(delay=delay, reason=reason):
            # Nothing happened, so nothing is forgotten either: losses in a row stay in a row.
            return _again(
                attempt,
                delay=delay,
                attempts=attempt.attempt - 1,
                losses=attempt.losses,
                suspect=attempt.suspect,
                reason=reason or None,
                log=attempt.log,
            )
        case Cancelled(reason=reason):
            return _ended(attempt, State.CANCELLED, reason=reason)
        case Lost():
            return _lost(attempt, outcome, now)
        case _:
            assert_never(outcome)


def fingerprint(handler: str, error: str) -> str:
    """Equal for dead letters that died of the same thing: numbers, ids and quoted values don't count."""
    essence = re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-fA-F]+|[0-9a-fA-F-]{32,}|\d+", "#", error[:MAX_ERROR])
    return hashlib.sha256(f"{handler}\0{essence}".encode()).hexdigest()[:16]


def _failed(attempt: Attempt, outcome: Failed, now: datetime, uniform: float) -> Verdict:
    failures = attempt.failures + 1
    error = _presentable(outcome.error)
    retry = attempt.task.retry
    if outcome.permanent or retry.exhausted_by(failures):
        reason = "permanent failure" if outcome.permanent else "retries exhausted"
        return _ended(attempt, State.DEAD, failures=failures, error=error, reason=reason)
    delay = retry.delay_after(failures, uniform) if outcome.retry_after is None else outcome.retry_after
    log = _extended(attempt, "failed", error, now)
    return _again(attempt, delay=delay, failures=failures, error=error, log=log)


def _lost(attempt: Attempt, outcome: Lost, now: datetime) -> Verdict:
    error = f"attempt lost: {outcome.reason}"
    log = _extended(attempt, "lost", error, now, shared=outcome.shared)
    losses, suspect = attempt.losses, attempt.suspect
    # A suspect had its worker to itself, whatever else the store believes that the worker held.
    if outcome.shared is None or (suspect and outcome.shared != UNKNOWN):
        losses += 1
    elif not suspect:
        suspect = _shared_in_a_row(log) >= SUSPECTED_AT
    if losses >= MAX_LOSSES:
        return _ended(attempt, State.DEAD, session=attempt.session, losses=losses, error=error, reason="lost too often")
    reason = WAITS if suspect else None
    return _again(attempt, session=attempt.session, losses=losses, suspect=suspect, error=error, reason=reason, log=log)


def _shared_in_a_row(log: bytes) -> int:
    """What the latest attempts say against a run, back to the last that wasn't lost."""
    lost = takewhile(lambda entry: entry["outcome"] == "lost", reversed(json.loads(log)))
    return sum(entry.get("shared", 0) for entry in lost)


def _ended(
    attempt: Attempt,
    state: State,
    *,
    session: SessionId | None = None,
    failures: int | None = None,
    losses: int | None = None,
    error: str | None = None,
    reason: str | None = None,
) -> Verdict:
    return Verdict(
        run_id=attempt.run_id,
        fence=attempt.fence,
        session=session,
        state=state,
        attempt=attempt.attempt,
        failures=attempt.failures if failures is None else failures,
        losses=attempt.losses if losses is None else losses,
        error=error,
        reason=reason,
        log=attempt.log,
    )


def _again(
    attempt: Attempt,
    *,
    session: SessionId | None = None,
    delay: timedelta = timedelta(0),
    attempts: int | None = None,
    failures: int | None = None,
    losses: int = 0,
    suspect: bool = False,
    error: str | None = None,
    reason: str | None = None,
    log: bytes,
) -> Verdict:
    return Verdict(
        run_id=attempt.run_id,
        fence=attempt.fence,
        session=session,
        state=State.WAITING,
        delay=min(max(delay, timedelta(0)), LONGEST_DELAY),
        attempt=attempt.attempt if attempts is None else attempts,
        failures=attempt.failures if failures is None else failures,
        losses=losses,
        suspect=suspect,
        error=error,
        reason=reason,
        log=log,
    )


def _extended(attempt: Attempt, outcome: str, error: str | None, now: datetime, *, shared: int | None = None) -> bytes:
    entries = json.loads(attempt.log) if attempt.log else []
    entry = {
        "attempt": attempt.attempt,
        "token": attempt.fence,
        "worker": attempt.worker,
        "started_at": attempt.started_at.isoformat(),
        "completed_at": now.isoformat(),
        "outcome": outcome,
        "error": error and error[:_MAX_LOG_ERROR],
    }
    entries.append(entry if shared is None else {**entry, "shared": shared})
    return json.dumps(entries[-MAX_LOG_ENTRIES:], separators=(",", ":")).encode()


def _presentable(error: str) -> str:
    """Text that every store can keep and every terminal can show: no NUL, no lone surrogates, bounded."""
    kept = error if len(error) <= MAX_ERROR else error[: MAX_ERROR // 2] + "\n…\n" + error[-MAX_ERROR // 2 :]
    return kept.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
