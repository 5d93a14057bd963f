"""What a receiver's answer means: only 2xx is success, and whatever else is tried again by the job's policy.

`Retry-After` (an hour at most) of 408, 425, 429 and 5xx takes the policy's place. Redirects are never followed: the new
place wasn't checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from mainspring.worker.flow import Fail, RetryAfter

LONGEST_RETRY_AFTER = timedelta(hours=1)
_MAY_PASS = frozenset({408, 425, 429})
_EXCERPT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, read to its end or to where reading stopped."""

    status: int
    body: str
    truncated: bool
    retry_after: str | None = None


def judge_answer(answer: Answer, host: str, now: datetime) -> Mapping[str, Any]:
    """The run's result, or the failure that the answer amounts to."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return {"status": status, "body": answer.body, "truncated": answer.truncated}
    message = _describe(answer, host)
    if status in _MAY_PASS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        delay = parse_retry_after(answer.retry_after, now)
        raise Fail(message) if delay is None else RetryAfter(delay, message)
    redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    raise Fail(f"{message} (redirects are not followed)" if redirect else message)


def parse_retry_after(text: str | None, now: datetime) -> timedelta | None:
    """The wait that the header asks for, an hour at most; None if it asks for none or can't be read."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        # Nine digits are decades already, and more of them would overflow.
        delay = timedelta(seconds=int(text[:9]))
    else:
        moment = _parse_date(text)
        delay = timedelta(0) if moment is None else moment - now
    return min(delay, LONGEST_RETRY_AFTER) if delay > timedelta(0) else None


def _parse_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _describe(answer: Answer, host: str) -> str:
    try:
        phrase = f" {HTTPStatus(answer.status).phrase}"
    except ValueError:
        phrase = ""
    excerpt = " ".join(answer.body[:_EXCERPT].split())
    return f"{host} answered {answer.status}{phrase}" + (f": {excerpt}" if excerpt else "")
