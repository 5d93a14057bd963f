"""Faults of processes, clocks and the store, one after the other until the world is healed."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from mainspring.testing.simulation.history import Happened
from mainspring.testing.simulation.process import Process

if TYPE_CHECKING:
    from mainspring.testing.simulation.world import World

_SHARE_ON = 0.6
_MOST_STEPS = 60


class Chaos:
    """Draws which kinds of faults this schedule has, and then when and whom they hit."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random
        kinds: list[Callable[[], None]] = [
            self._crash,
            self._crash,
            self._pause,
            self._block,
            self._terminate,
            self._skew,
            self._set_the_store_clock,
            self._take_the_store_away,
        ]
        self._kinds = [kind for kind in kinds if random.random() < _SHARE_ON] or [self._crash]
        self._over = False

    def begin(self) -> None:
        """From now on."""
        self._next()

    def end(self) -> None:
        """No more faults; what was disturbed before may take its time to recover."""
        self._over = True

    def _next(self) -> None:
        calm = self._random.expovariate(1 / self._world.weather.mean_calm)
        self._world.universe.after(calm, self._strike)

    def _strike(self) -> None:
        if not self._over:
            self._random.choice(self._kinds)()
            self._next()

    def _crash(self) -> None:
        process = self._victim()
        process.loses_power = self._random.random() < 0.2
        process.crash_soon(1 + int(self._random.random() ** 2 * _MOST_STEPS))

    def _pause(self) -> None:
        self._victim().pause(self._random.choice((0.5, 3.0, 8.0, 15.0)))

    def _block(self) -> None:
        self._victim().block(self._random.choice((0.5, 3.0, 12.0)))

    def _terminate(self) -> None:
        self._victim().terminate(hurried=self._random.random() < 0.3)

    def _skew(self) -> None:
        process = self._victim()
        worst = self._world.storage.worst_skew
        skew = process.skew + self._random.choice((-30.0, -2.0, -0.1, 0.1, 2.0, 30.0))
        process.skew = min(max(skew, -worst), worst)
        self._say(process.label, f"clock is off by {process.skew:g} s")

    def _set_the_store_clock(self) -> None:
        jump = self._random.choice((-5.0, -1.0, -0.05, 0.05, 1.0, 5.0, 20.0))
        self._world.clock.offset += jump
        self._say("store", f"clock was set by {jump:+g} s")

    def _take_the_store_away(self) -> None:
        seconds = self._random.choice((0.3, 2.0, 9.0))
        self._world.weather.away_until = self._world.universe.time + seconds
        self._say("store", f"away for {seconds:g} s")

    def _victim(self) -> Process:
        return self._random.choice(list(self._world.servants.values()))

    def _say(self, who: str, what: str) -> None:
        self._world.history.record(Happened(self._world.universe.time, who, what))
