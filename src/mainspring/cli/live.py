"""The live view: drawn again whenever something changes, until somebody has seen enough."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rich.console import Console
from rich.live import Live

from mainspring.cli.frame import drawn, ended, failing, looked
from mainspring.cli.server import Server
from mainspring.cli.waiting import stir, stirred
from mainspring.client.errors import Unavailable

LOOK_AGAIN = 1.0
"""Seconds between two looks when nothing is told."""
AT_MOST_EVERY = 0.2
"""Seconds between two looks, however much is told."""


WINDOW = 5.0
"""Seconds over which the rate is taken."""


class Rate:
    """How fast a total grows, over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, total: int, now: float) -> float | None:
        """The rate with *total* at *now*; None before there was time to see it grow."""
        self._seen.append((now, total))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW:  # noqa: PLR2004 - a beginning and an end
            self._seen.popleft()
        then, before = self._seen[0]
        return (total - before) / (now - then) if now > then else None


async def watch(server: Server, console: Console, rows: int) -> None:
    """Draw until q is typed or Ctrl-C comes."""
    try:
        async with stirred(server) as stirring, _key_pressed("q", stirring) as pressed:
            with Live(console=console, screen=True, auto_refresh=False) as live:
                rate = Rate()
                while not pressed.is_set():
                    try:
                        seen = await looked(server, rows)
                        frame = drawn(seen, server.place, rate.of(ended(seen), time.monotonic()))
                    except Unavailable as error:
                        frame = failing(error, server.place)
                    live.update(frame, refresh=True)
                    await asyncio.sleep(AT_MOST_EVERY)
                    await stir(stirring, LOOK_AGAIN - AT_MOST_EVERY)
    except asyncio.CancelledError:
        # Ctrl-C is how one leaves.
        return


@asynccontextmanager
async def _key_pressed(wanted: str, stirring: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    """An event that is set when *wanted* is typed; where no terminal is there to type at, it never is."""
    pressed = asyncio.Event()
    if not sys.stdin.isatty():
        yield pressed
        return
    import termios  # noqa: PLC0415 - only where there is a terminal
    import tty  # noqa: PLC0415

    descriptor = sys.stdin.fileno()

    def read() -> None:
        if wanted in sys.stdin.read(1):
            pressed.set()
            stirring.set()

    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, read)
    try:
        yield pressed
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
