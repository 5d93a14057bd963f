"""`config show`: every setting, its value, and where that came from."""

import json
from typing import Annotated

import typer

from mainspring.cli.options import examples, with_settings
from mainspring.wiring.setting import Part, settings_of
from mainspring.wiring.settings import Settings

config = typer.Typer(help="The settings.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(config, name="config")


@config.command("show", epilog=examples("mainspring config show", "PORT=9000 mainspring config show --json"))
@with_settings(*Part)
def show(
    settings: Settings,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one setting per line.")] = False,
) -> None:
    """Show every setting with its value and where it came from: a flag, a variable, .env or the default."""
    known = {setting.name: setting for setting in settings_of(Settings)}
    rows = [
        {"variable": next(iter(known[name].variables)), "value": value, "origin": origin, "flag": known[name].flag}
        for name, value, origin in settings.shown()
    ]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    widths = {column: max(len(row[column]) for row in rows) for column in ("variable", "value")}
    for row in rows:
        typer.echo(f"{row['variable']:<{widths['variable']}}  {row['value']:<{widths['value']}}  {row['origin']}")
