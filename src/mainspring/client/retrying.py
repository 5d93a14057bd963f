"""When a request is sent again, and how an answer that says no is understood."""

import json
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mainspring.client.errors import Problem

TRANSIENT = frozenset({429, 502, 503, 504})
"""Answers after which the same request may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """How patient a client is: pauses double from *first* to *longest*, half of each by chance."""

    tries: int = 6
    first: timedelta = timedelta(milliseconds=100)
    longest: timedelta = timedelta(seconds=5)
    longest_asked: timedelta = timedelta(seconds=30)
    """The longest pause that a server's Retry-After can ask for; beyond it the caller is told at once."""

    def pause(self, tries: int, asked: timedelta | None = None) -> timedelta | None:
        """How long to wait after so many tries; None to give up."""
        if tries >= self.tries or (asked is not None and asked > self.longest_asked):
            return None
        pause = min(self.first * (1 << min(tries - 1, 20)), self.longest) * (0.5 + random.random() / 2)  # noqa: S311 - no secret
        return pause if asked is None else max(pause, asked)


def problem_of(status: int, body: bytes, retry_after: str | None) -> Problem:
    """What the server said; whatever stands before it may have answered by something else than a problem document."""
    members = _object(body)
    errors = [each for each in members.get("errors", ()) if isinstance(each, dict)]
    first = errors[0].get("field") if errors else None
    return Problem(
        status=status,
        code=str(members.get("error", "")),
        title=str(members.get("title", "")),
        detail=str(members.get("detail", "")),
        field=members.get("field") or first,
        errors=errors,
        retry_after=_seconds(retry_after),
        members=members,
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        members = json.loads(body)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def _seconds(text: str | None) -> timedelta | None:
    # The other form that HTTP allows, a date, is never sent by Mainspring.
    return timedelta(seconds=int(text)) if text is not None and text.isdecimal() else None
