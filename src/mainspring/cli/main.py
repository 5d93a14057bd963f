"""The command tree. What a command needs is imported when it runs, so that asking for help takes no time."""

import sys
from typing import Annotated

import typer

from mainspring.cli import (
    audit,
    benching,
    config,
    dead,
    doctor,
    importing,
    jobs,
    keys,
    locks,
    runs,
    schedule,
    serving,
    simulating,
    top,
    upkeep,
)
from mainspring.cli.exits import explained
from mainspring.errors import MainspringError
from mainspring.version import __version__

WELCOME = f"""\
Mainspring {__version__}: a distributed job scheduler.

  mainspring serve --samples                     start everything here, with sample jobs, on http://127.0.0.1:8080
  mainspring job add test.echo --payload '"hello"' --wait
  mainspring job list                            what there is; run list: what ran
  mainspring top                                 what is going on, live
  mainspring schedule next '0 6 * * 1-5' --tz Europe/Berlin
  mainspring doctor                              what is wrong, and what to do about it
  mainspring --help                              all commands\
"""

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
)
for part in (serving, jobs, runs, dead, locks, top, importing, schedule, keys, audit, config, doctor, upkeep):
    part.register(app)
for part in (simulating, benching):
    part.register(app)


@app.callback(invoke_without_command=True)
def mainspring(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Say the version.")] = False,
) -> None:
    """A distributed job scheduler: accepted jobs are never lost, a moment never fires twice."""
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(WELCOME)


def run() -> None:
    """The entry point: our errors are one sentence, and say with the exit code whose turn it is."""
    try:
        app()
    except MainspringError as error:
        code, sentence = explained(error)
        typer.echo(f"mainspring: {sentence}", err=True)
        sys.exit(code)
