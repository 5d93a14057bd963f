"""`top`: what is going on, live."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.options import examples, with_server

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

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
    from mainspring.cli.live import watch  # noqa: PLC0415

    if show.as_json:
        show.item(await looked(server, rows))
    elif once or not sys.stdout.isatty():
        show.console.print(drawn(await looked(server, rows), server.place), width=min(show.console.width, WIDEST))
    else:
        await watch(server, show.console, rows)
