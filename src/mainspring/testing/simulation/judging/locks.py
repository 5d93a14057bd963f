"""Locks that users take: one holder at a time by the store's clock, under fences that grow."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from mainspring.ports.locks import Lock
from mainspring.testing.simulation.history import Applied, History
from mainspring.testing.simulation.judging.verdict import Violation

_FREE = datetime.min.replace(tzinfo=UTC)
"""When a lock that was given up has ended, whatever anybody's clock says."""


def locks_exclude(history: History) -> Iterator[Violation]:
    """Follow every lock from hand to hand."""
    held: dict[str, Lock] = {}
    for event in history.events:
        if not isinstance(event, Applied) or not event.verb.startswith("locks."):
            continue
        if event.verb == "locks.release":
            lock = event.arguments[0]
            if event.answer is True and held.get(lock.name) is not None:
                held[lock.name] = replace(held[lock.name], expires_at=_FREE)
        elif isinstance(event.answer, Lock):
            before = held.get(event.answer.name)
            if before is not None:
                yield from _handed_on(before, event.answer, event)
            held[event.answer.name] = event.answer


def _handed_on(before: Lock, after: Lock, event: Applied) -> Iterator[Violation]:
    if (after.holder, after.fence) == (before.holder, before.fence):
        return
    what = f"the lock {after.name} went from {before.holder}/{before.fence} to {after.holder}/{after.fence}"
    if after.fence <= before.fence:
        yield Violation("P5", f"{what}: its fence didn't grow", event.at)
    if before.expires_at > event.now:
        yield Violation("P13", f"{what} while it was held", event.at)
