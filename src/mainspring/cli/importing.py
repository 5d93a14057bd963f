"""`import`: jobs from a file of JSON lines, in batches, without ever storing a line twice."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.options import examples, with_server

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server


def register(app: typer.Typer) -> None:
    """Put the command into the tree."""
    app.command(
        "import",
        epilog=examples(
            "mainspring import jobs.jsonl",
            "mainspring import jobs.jsonl --check",
            "zcat jobs.jsonl.gz | mainspring import -",
        ),
    )(import_)


@partial(with_server, may_create=True)
async def import_(
    server: "Server",
    show: "Printer",
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="One job as JSON per line; - for standard input.")],
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=1, max=10_000, help="Lines per request.")] = 1000,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="ID", help="Go on with an import whose file was corrected since."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only look for lines that aren't JSON objects.")] = False,
) -> int | None:
    """Add the jobs of a file. An import that broke off goes on where it was when it is repeated.

    A line without a key is given one made of the file's content and the line's number, so that repeating the import
    stores nothing twice. Of a batch in which something is wrong nothing is stored.
    """
    from mainspring.cli.batches import Import, opened_lines  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.exits import Exit  # noqa: PLC0415

    with opened_lines(file) as lines:
        running = Import(lines, identity=resume or lines.digest()[:16], size=batch)
        faults = list(running.faults_of_form())
        if not faults and not check:
            with running.progress(visible=sys.stderr.isatty()) as progress:
                faults += [fault async for fault in running.send(server, progress)]
        for number, detail in faults:
            show.note(f"line {number}: {detail}")
        show.answer(running.summary(faults), running.sentence(faults, checked=check))
    return Exit.FAILED if faults else None
