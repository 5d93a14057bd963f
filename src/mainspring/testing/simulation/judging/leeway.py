"""What a store doesn't promise. Everything else is judged alike on every store."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Leeway:
    """None, unless a store's adapter says so in its documentation."""

    claims_outlive_sessions: timedelta = timedelta(0)
    """How long after a session's end a claim that had begun before may still hand it runs, which are then rescued."""
    takers_decide: bool = False
    """Whether a run is due by the clock of whoever takes its ticket, and not by that of whoever starts it."""
    letters_follow: bool = False
    """Whether a dead letter is crossed out only by the time when its requeue or discard is answered."""


NONE = Leeway()
