"""Tickets: what a broker carries. Whoever has one may ask for the run; the store decides."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from mainspring.domain.ids import Fence, Lane, RunId
from mainspring.domain.task import HIGHEST_PRIORITY, LOWEST_PRIORITY

_LARGEST_FENCE = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A hint that a run can be started, good for as long as nobody has changed the run."""

    run_id: RunId
    fence: Fence
    """What the run's fence was when the ticket was taken: any hand-over, edit or hold since makes it worthless."""
    lane: Lane
    priority: int
    wake_at: datetime
    """When the run was to start: brokers sort by it, and the wait is told by it."""


def written(ticket: Ticket) -> bytes:
    """The ticket as a message; two of one run under one fence are the same bytes."""
    parts = {
        "run": str(ticket.run_id),
        "fence": ticket.fence,
        "lane": ticket.lane,
        "priority": ticket.priority,
        "wake_at": ticket.wake_at.isoformat(),
    }
    return json.dumps(parts, separators=(",", ":")).encode()


def read(message: bytes) -> Ticket:
    """The ticket that *message* is; ValueError if it isn't one. Members that aren't known are passed over."""
    try:
        parts = json.loads(message)
        ticket = Ticket(
            run_id=RunId(UUID(parts["run"])),
            fence=Fence(_number(parts["fence"], 0, _LARGEST_FENCE)),
            lane=Lane(_text(parts["lane"])),
            priority=_number(parts["priority"], LOWEST_PRIORITY, HIGHEST_PRIORITY),
            wake_at=_instant(parts["wake_at"]),
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"this is no ticket ({error!r})") from error
    return ticket


def _number(value: object, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _instant(value: str) -> datetime:
    instant = datetime.fromisoformat(value)
    if instant.tzinfo is None:
        raise ValueError(value)
    return instant.astimezone(UTC)
