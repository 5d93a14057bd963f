"""What happened, in order: the only thing that the properties are judged by, besides the rows at the end."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mainspring.domain.ids import Fence, RunId
from mainspring.ports.journal import Note
from mainspring.testing.simulation.describing import briefly


@dataclass(frozen=True, slots=True)
class Applied:
    """The store has carried out a verb; whether anybody heard the answer is another matter."""

    at: float
    now: datetime
    """By the store's clock."""
    process: str
    verb: str
    arguments: tuple[Any, ...]
    answer: Any
    """What it returned, or the exception that it raised."""
    sent: float
    """When the process asked for it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A client has heard the answer: from now on somebody relies on it."""

    at: float
    process: str
    verb: str
    arguments: tuple[Any, ...]
    answer: Any


@dataclass(frozen=True, slots=True)
class Handled:
    """A handler began, or came to its end."""

    at: float
    process: str
    run: RunId
    fence: Fence
    what: str


@dataclass(frozen=True, slots=True)
class Journalled:
    """A worker's notes have reached its journal."""

    at: float
    process: str
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault or another event of the world around."""

    at: float
    process: str
    what: str


Event = Applied | Answered | Handled | Journalled | Happened


class History:
    """Append-only."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.record = self.events.append

    def lines(self) -> Iterator[str]:
        """Every event as a line of text."""
        return map(line, self.events)

    def digest(self) -> str:
        """Equal for equal histories, and only for those."""
        digest = hashlib.sha256()
        for text in self.lines():
            digest.update(text.encode())
        return digest.hexdigest()


def line(event: Event) -> str:
    """An event in a line."""
    start = f"{event.at:10.4f} {event.process:<14}"
    match event:
        case Applied():
            return f"{start} {event.verb} {briefly(event.arguments)} → {briefly(event.answer)}"
        case Answered():
            return f"{start} heard {event.verb} → {briefly(event.answer)}"
        case Handled():
            return f"{start} handler of {event.run.hex[-6:]}/{event.fence} {event.what}"
        case Journalled():
            return f"{start} journal {briefly(event.notes)}"
        case Happened():
            return f"{start} *** {event.what}"
