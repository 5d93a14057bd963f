"""Flags of many commands: how much of a list, and whether to wait."""

from typing import Annotated

import typer

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most.")]
All = Annotated[bool, typer.Option("--all", help="Follow the pages to the end.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the result; exit with 1 unless it succeeds.")]
WaitTimeout = Annotated[
    str | None, typer.Option("--wait-timeout", metavar="TIME", help="Wait no longer than this: 30s, 5m.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the id alone.")]
