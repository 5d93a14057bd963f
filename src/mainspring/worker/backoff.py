"""Waiting for a store to come back: longer each time, up to a bound, never all at once."""

from datetime import timedelta

from mainspring.ports.time import Clock, Random

FIRST = timedelta(milliseconds=50)
LONGEST = timedelta(seconds=5)


class Backoff:
    """The pauses of one row of failures; `reset` ends the row."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._next = FIRST

    async def pause(self) -> None:
        """Sleep between half and the whole of the current step, then double the step."""
        step, self._next = self._next, min(self._next * 2, LONGEST)
        await self._clock.sleep(step * (0.5 + self._random.uniform() / 2))

    def reset(self) -> None:
        """The store answered: begin anew."""
        self._next = FIRST
