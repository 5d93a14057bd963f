"""What a worker tells about the attempts that it has executed, to whoever counts them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from mainspring.domain.outcome import Cancelled, Failed, HandedBack, Lost, Outcome, Snoozed, Succeeded
from mainspring.domain.run import Attempt

OUTCOME_WORDS: Final[Mapping[type[Outcome], str]] = MappingProxyType(
    {
        Succeeded: "succeeded",
        Failed: "failed",
        Snoozed: "snoozed",
        HandedBack: "handed_back",
        Cancelled: "cancelled",
        Lost: "lost",
    }
)
"""What metrics and traces call an outcome."""


class Observer(Protocol):
    """Called in the loop, for every attempt, ten thousand times a second: it must be quick, and must not fail."""

    def began(self, attempt: Attempt) -> None:
        """The handler of the attempt is about to be called."""
        ...

    def ended(self, attempt: Attempt, outcome: Outcome, seconds: float) -> None:
        """The attempt came to *outcome* after so many seconds in its handler."""
        ...

    def refused(self, count: int) -> None:
        """There are now *count* verdicts that the store refuses, though it takes others."""
        ...

    def exhausted(self, lack: str) -> None:
        """Something could not begin because this process lacks *lack*."""
        ...

    def unreadable(self) -> None:
        """A broker has brought something that isn't a ticket; it was dropped."""
        ...


class Unobserved:
    """Nobody counts."""

    def began(self, attempt: Attempt) -> None:
        """As `Observer.began`."""

    def ended(self, attempt: Attempt, outcome: Outcome, seconds: float) -> None:
        """As `Observer.ended`."""

    def refused(self, count: int) -> None:
        """As `Observer.refused`."""

    def exhausted(self, lack: str) -> None:
        """As `Observer.exhausted`."""

    def unreadable(self) -> None:
        """As `Observer.unreadable`."""
