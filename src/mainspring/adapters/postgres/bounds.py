"""What an id says about where its run may lie: history is cut by time, and only the parts in question are read."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SLACK = timedelta(days=1)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)
_LATEST_MILLISECONDS = (_LATEST - _EPOCH) // timedelta(milliseconds=1)


def earliest_end(ids: Iterable[UUID]) -> datetime:
    """None of these runs ended before: an id carries the time of its making, by a clock that is a day off at most."""
    milliseconds = min((identity.int for identity in ids), default=0) >> 80
    return _EPOCH + timedelta(milliseconds=min(milliseconds, _LATEST_MILLISECONDS)) - _SLACK
