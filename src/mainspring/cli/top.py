"""`top`: what is going on, live."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.options import examples, with_server

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

LOOK_AGAIN = 1.0
"""Seconds between two looks when nothing is told."""
AT_MOST_EVERY = 0.2
"""Seconds between two looks, however much is told."""
WIDEST = 140
"""Columns of a frame that isn't drawn on a terminal."""


def register(app: typer.Typer) -> None:
    """Put the command into the tree."""
    app.command("top", epilog=examples("mainspring top", "mainspring top --once --json"))(top)


@with_server
async def top(
    server: "Server",
    show: "Printer",
    *,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=1, max=100, help="How many executions.")] = 15,
) -> None:
    """Show figures, workers and the latest executions, as they change; q or Ctrl-C ends it."""
    from mainspring.cli.frame import drawn, looked  # noqa: PLC0415 - imported when it is needed

    seen = await looked(server, rows)
    if once or show.as_json or not sys.stdout.isatty():
        if show.as_json:
            show.item(seen)
        else:
            show.console.print(drawn(seen, server.url), width=min(show.console.width, WIDEST))
        return
    try:
        await _live(server, show, rows)
    except asyncio.CancelledError:
        # Ctrl-C is how one leaves.
        return


async def _live(server: "Server", show: "Printer", rows: int) -> None:
    from rich.live import Live  # noqa: PLC0415 - imported when it is needed

    from mainspring.cli.frame import drawn, failing, looked  # noqa: PLC0415
    from mainspring.cli.waiting import stir, stirred  # noqa: PLC0415
    from mainspring.client.errors import Unavailable  # noqa: PLC0415

    async with stirred(server) as stirring, _key_pressed("q", stirring) as pressed:
        with Live(console=show.console, screen=True, auto_refresh=False) as live:
            while not pressed.is_set():
                try:
                    frame = drawn(await looked(server, rows), server.url)
                except Unavailable as error:
                    frame = failing(error, server.url)
                live.update(frame, refresh=True)
                await asyncio.sleep(AT_MOST_EVERY)
                await stir(stirring, LOOK_AGAIN - AT_MOST_EVERY)


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
