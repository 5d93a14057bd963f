"""What may go wrong in one schedule, and how often: drawn from its seed.

Not every schedule has every fault. Where all are always on, the frequent ones hide what the rare ones would show.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

CHANCES = (0.0, 0.0, 0.02, 0.08, 0.2)
FAIRER_CHANCES = (0.0, 0.0, 0.005, 0.02, 0.05)
"""For calls of which many make up one verb: else hardly any verb would come to its end."""
_SHORTEST, _LONGEST = 0.0002, 0.003


class Trip(NamedTuple):  # of which a schedule makes thousands
    """The fate of one call, in seconds from when it was made."""

    arrives: float | None
    """When the store gets it; None: never."""
    answer: float | None
    """How long its answer takes; None: it is lost."""
    gives_up: float
    """When the caller stops waiting for an answer that doesn't come."""


class Weather:
    """The faults of the network and of the store, until they end."""

    def __init__(self, random: Random, chances: Sequence[float] = CHANCES) -> None:
        self._random = random
        self._lost, self._unheard, self._late = (random.choice(chances) for _ in range(3))
        self.signals_lost = random.choice((0.0, 0.0, 0.2, 1.0))
        self._slowness = random.choice((1.0, 1.0, 10.0, 100.0))
        self.mean_calm = random.choice((2.0, 4.0, 8.0))
        """Mean seconds between two faults of processes, clocks or the store."""
        self.away_until = 0.0
        self.clear = False

    def clear_up(self) -> None:
        """From now on nothing goes wrong."""
        self.clear = True
        self.away_until = 0.0

    def latency(self) -> float:
        """A quick trip one way."""
        pace = 1.0 if self.clear else self._slowness
        return pace * (_SHORTEST + (_LONGEST - _SHORTEST) * self._random.random())

    def trip(self) -> Trip:
        """What becomes of the next call."""
        arrives, answer = self.latency(), self.latency()
        if self.clear:
            return Trip(arrives, answer, 0.0)
        draw = self._random.random()
        gives_up = arrives + answer + 2.0 * self._random.random()
        if draw < self._lost:
            return Trip(None, None, gives_up)
        if draw < self._lost + self._unheard:
            return Trip(arrives, None, gives_up)
        if draw < self._lost + self._unheard + self._late:
            return Trip(self._late_arrival(gives_up), None, gives_up)
        return Trip(arrives, answer, 0.0)

    def bad_trip(self) -> Trip:
        """What becomes of a call among others that go wrong: all but one of them may go well."""
        arrives, answer = self.latency(), self.latency()
        gives_up = arrives + answer + 2.0 * self._random.random()
        fates = (
            Trip(None, None, gives_up),
            Trip(arrives, None, gives_up),
            Trip(self._late_arrival(gives_up), None, gives_up),
            Trip(arrives, answer, 0.0),
        )
        return self._random.choice(fates)

    def _late_arrival(self, gives_up: float) -> float:
        return gives_up + 20.0 * self._random.random() ** 2
