"""`test.echo`, `test.delay`, `test.log`: for trying a scheduler out."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mainspring.ports.time import Clock
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon, Fail
from mainspring.worker.handlers.payload import Fields
from mainspring.worker.handlers.stopping import stoppable
from mainspring.worker.payload import Verbatim

LONGEST_DELAY_MS = 7 * 86_400_000
_LEVELS = ("debug", "info", "warning", "error")


async def echo(_payload: Any, context: Context) -> Verbatim | None:
    """Return the payload as it was written; null is no result."""
    return None if context.payload is None else Verbatim(context.payload_text)


async def log(payload: Any, context: Context) -> None:
    """Write `message` to the worker's log, and with it to the run's output, at `level` (info)."""
    fields = Fields(payload, "message", "level")
    level = fields.text("level", "info").lower()
    if level not in _LEVELS:
        raise Abandon(f"level: must be one of {', '.join(_LEVELS)}")
    getattr(context.log, level)("test.log", message=fields.text("message"))


class Delay:
    """`test.delay`: last for `durationMs` (5000), then fail with `failMessage` if `shouldFail`."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, payload: Any, context: Context) -> Mapping[str, float]:
        """Wait, then do as the payload says."""
        fields = Fields(payload, "durationMs", "shouldFail", "failMessage")
        milliseconds = fields.number("durationMs", 5000, low=0, high=LONGEST_DELAY_MS)
        fails = fields.flag("shouldFail")
        message = fields.text("failMessage", "Simulated failure")
        await stoppable(context, self._clock.sleep(timedelta(milliseconds=milliseconds)))
        if fails:
            raise Fail(message)
        return {"durationMs": milliseconds}
