"""`lab.simulate`: work that takes `execution_time_ms` (1000) and fails with the chance `fail_rate` (0)."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mainspring.ports.time import Clock, Random
from mainspring.worker.context import Context
from mainspring.worker.flow import Fail
from mainspring.worker.handlers.payload import Fields
from mainspring.worker.handlers.stopping import stoppable

LONGEST_EXECUTION_MS = 7 * 86_400_000


class Simulate:
    """The handler; `payload` is carried along and means nothing to it."""

    def __init__(self, *, clock: Clock, random: Random) -> None:
        self._clock = clock
        self._random = random

    async def __call__(self, payload: Any, context: Context) -> Mapping[str, float]:
        """Take the time, then draw."""
        fields = Fields(payload, "execution_time_ms", "fail_rate", "payload")
        milliseconds = fields.number("execution_time_ms", 1000, low=0, high=LONGEST_EXECUTION_MS)
        fail_rate = fields.number("fail_rate", 0, low=0, high=1)
        await stoppable(context, self._clock.sleep(timedelta(milliseconds=milliseconds)))
        if self._random.uniform() < fail_rate:
            raise Fail("Simulated failure")
        return {"execution_time_ms": milliseconds}
