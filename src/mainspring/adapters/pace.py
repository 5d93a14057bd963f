"""How patient a connection is that may be lost at any time and comes back by itself."""

from dataclasses import dataclass
from datetime import timedelta

from mainspring.ports.time import Random

_MOST_DOUBLINGS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long such a connection waits for what."""

    answer: timedelta = timedelta(seconds=2)
    """For the server to answer, connecting included."""
    heartbeat: timedelta = timedelta(seconds=15)
    """Between two questions whether a silent server is still there: the network alone would take hours to tell."""
    first_pause: timedelta = timedelta(milliseconds=100)
    longest_pause: timedelta = timedelta(seconds=5)

    def pause(self, failures: int, random: Random) -> float:
        """Seconds until the next try, longer with each failure, and never the same for a whole cluster."""
        doubled = self.first_pause * (1 << min(failures - 1, _MOST_DOUBLINGS))
        return min(doubled, self.longest_pause).total_seconds() * (0.5 + random.uniform() / 2)
