"""Output on its way to the store: at most once a second per run, and the last of it before its run is settled."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.output import Output, Printed
from mainspring.ports.time import Clock
from mainspring.worker.context import Context

INTERVAL = timedelta(seconds=1)

log = get_logger("mainspring.worker")


class Printer:
    """Writes what contexts print. Output is for people: what can't be written is dropped, never waited for."""

    def __init__(self, output: Output, clock: Clock, loop: asyncio.AbstractEventLoop) -> None:
        self._output = output
        self._clock = clock
        self._loop = loop
        self._changed: dict[int, Context] = {}
        self._something = asyncio.Event()
        # Two writes for one run must not overtake each other.
        self._turn = asyncio.Lock()

    def note(self, context: Context) -> None:
        """The context has output that wasn't taken yet; called from any thread."""
        self._loop.call_soon_threadsafe(self._add, context)

    async def run(self) -> None:
        """Write what has changed, then rest."""
        while True:
            await self._something.wait()
            self._something.clear()
            changed, self._changed = self._changed, {}
            await self.write([printed for context in changed.values() if (printed := context.take_printed())])
            await self._clock.sleep(INTERVAL)

    async def write(self, outputs: Sequence[Printed]) -> None:
        """Write *outputs* now."""
        if not outputs:
            return
        async with self._turn:
            try:
                await self._output.write(outputs)
            except StoreError as error:
                log.warning("output.dropped", runs=len(outputs), error=str(error))

    def _add(self, context: Context) -> None:
        self._changed[id(context)] = context
        self._something.set()
