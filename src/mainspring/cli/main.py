"""The command tree. What a command needs is imported when it runs, so that asking for help takes no time."""

import sys
from typing import Annotated

import typer

from mainspring.cli import audit, keys, schedule, serving, simulating, upkeep
from mainspring.errors import ConfigurationError, MainspringError
from mainspring.version import __version__

WELCOME = f"""\
Mainspring {__version__}: a distributed job scheduler.

  mainspring serve --samples     start everything here and open http://127.0.0.1:8080
  mainspring serve               the same without sample jobs
  mainspring schedule next '0 6 * * 1-5' --tz Europe/Berlin
                                 show when a schedule fires
  mainspring --help              all commands

Hand it a job:
  curl http://127.0.0.1:8080/api/v1/jobs -H 'Content-Type: application/json' -d '{{"handler": "test.echo"}}'\
"""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
)
serving.register(app)
upkeep.register(app)
schedule.register(app)
keys.register(app)
audit.register(app)
simulating.register(app)


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
    except ConfigurationError as error:
        _fail(error, 2)
    except MainspringError as error:
        _fail(error, 1)


def _fail(error: MainspringError, code: int) -> None:
    typer.echo(f"mainspring: {error}", err=True)
    sys.exit(code)
