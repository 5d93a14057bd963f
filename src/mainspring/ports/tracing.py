"""Spans of distributed traces. A span's place in its trace travels as a W3C `traceparent`, a text of 55 characters."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

Value = str | int | float | bool
Attributes = Mapping[str, Value]

_TRACE_ID = slice(3, 35)
_SAMPLED = "13579bdf"
"""The last of the flags' digits, if their lowest bit is set."""
_NOTHING: Attributes = {}


class Kind(Enum):
    """A span's part in a conversation between processes."""

    INTERNAL = auto()
    SERVER = auto()
    CLIENT = auto()
    PRODUCER = auto()
    CONSUMER = auto()


class Span(Protocol):
    """Something that goes on."""

    @property
    def traceparent(self) -> str | None:
        """What to hand on to whoever is to be this span's child; None if nothing is traced."""
        ...

    def name(self, name: str) -> None:
        """Call it something else: one may know only later what it was."""
        ...

    def tell(self, attributes: Attributes) -> None:
        """Add what one has learnt since it began."""
        ...

    def fail(self, error: str) -> None:
        """Mark it as failed."""
        ...


class Tracing(Protocol):
    """Called where work is done, from any thread; none of it may fail or wait."""

    @property
    def enabled(self) -> bool:
        """Whether spans go anywhere; if not, callers may spare themselves the trouble."""
        ...

    def current(self) -> str | None:
        """The traceparent of the span that encloses the caller, or None."""
        ...

    def span(
        self,
        name: str,
        kind: Kind = Kind.INTERNAL,
        *,
        parent: str | None = None,
        attributes: Attributes = _NOTHING,
    ) -> AbstractContextManager[Span]:
        """A span around a block, which is then current: a child of *parent*, or else of what encloses it."""
        ...

    def record(
        self,
        name: str,
        kind: Kind = Kind.INTERNAL,
        *,
        parent: str | None,
        began: datetime,
        ended: datetime,
        attributes: Attributes = _NOTHING,
    ) -> str | None:
        """Tell of something that is over, as a child of *parent* or a trace of its own; its traceparent is returned."""
        ...


class Untraced:
    """Nothing is traced, and nothing is spent on it."""

    enabled = False
    traceparent = None

    def current(self) -> str | None:
        """As `Tracing.current`."""
        return None

    @contextmanager
    def span(
        self,
        name: str,  # noqa: ARG002 - nobody listens
        kind: Kind = Kind.INTERNAL,  # noqa: ARG002
        *,
        parent: str | None = None,  # noqa: ARG002
        attributes: Attributes = _NOTHING,  # noqa: ARG002
    ) -> Iterator[Span]:
        """As `Tracing.span`."""
        yield self

    def record(
        self,
        name: str,  # noqa: ARG002
        kind: Kind = Kind.INTERNAL,  # noqa: ARG002
        *,
        parent: str | None,  # noqa: ARG002
        began: datetime,  # noqa: ARG002
        ended: datetime,  # noqa: ARG002
        attributes: Attributes = _NOTHING,  # noqa: ARG002
    ) -> str | None:
        """As `Tracing.record`."""
        return None

    def name(self, name: str) -> None:
        """As `Span.name`."""

    def tell(self, attributes: Attributes) -> None:
        """As `Span.tell`."""

    def fail(self, error: str) -> None:
        """As `Span.fail`."""


UNTRACED = Untraced()


def trace_id_of(traceparent: str | None) -> str | None:
    """The trace that a traceparent belongs to, as 32 hexadecimal digits; None if nobody keeps that trace."""
    if traceparent is None or traceparent[-1] not in _SAMPLED:
        return None
    return traceparent[_TRACE_ID]
