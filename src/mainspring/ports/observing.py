"""What a worker tells about the attempts that it has executed, to whoever counts them."""

from typing import Protocol

from mainspring.domain.outcome import Outcome
from mainspring.domain.run import Attempt


class Observer(Protocol):
    """Called in the loop, once per attempt, ten thousand times a second: it must be quick, and must not fail."""

    def ended(self, attempt: Attempt, outcome: Outcome, seconds: float) -> None:
        """The attempt came to *outcome* after so many seconds in its handler."""
        ...


class Unobserved:
    """Nobody counts."""

    def ended(self, attempt: Attempt, outcome: Outcome, seconds: float) -> None:
        """As `Observer.ended`."""
