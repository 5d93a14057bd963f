"""`doctor`: what is wrong here, and what to do about it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.options import JSON, examples, with_settings
from mainspring.errors import ConfigurationError
from mainspring.wiring.dotenv import read_dotenv
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings

if TYPE_CHECKING:
    from mainspring.cli.findings import Finding


def register(app: typer.Typer) -> None:
    """Put the command into the tree."""
    app.command(
        "doctor",
        epilog=examples(
            "mainspring doctor", "mainspring doctor --data /var/lib/mainspring", "mainspring doctor --url URL"
        ),
    )(doctor)


@with_settings(*Part)
def doctor(
    settings: Settings,
    *,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Ask this server, not the store here. [MAINSPRING_URL]")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option("--api-key", metavar="KEY", help="Its API key. [MAINSPRING_KEY]")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Check settings, store, clocks, versions, folders, ports, workers and handlers; exit with 1 if something fails."""
    from mainspring.cli.exits import Exit  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.findings import Level  # noqa: PLC0415
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415

    flags = {settings.origins.get(name) for name in ("store", "data")} & {"--store", "--data"}
    if url is not None and flags:
        raise ConfigurationError("--url names a server and --store or --data a store: give one of them")
    if url is None and not flags:
        url = _variable("MAINSPRING_URL")
    found = run_loop(_server_findings(url, api_key) if url else _findings(settings))
    _print(found, as_json=as_json)
    if any(finding.level is Level.FAIL for finding in found):
        raise typer.Exit(Exit.FAILED)


async def _findings(settings: Settings) -> Sequence["Finding"]:
    from mainspring.cli import (  # noqa: PLC0415 - imported when it is needed
        cluster_checks,
        coordination_checks,
        local_checks,
        store_checks,
    )
    from mainspring.cli.target import over  # noqa: PLC0415
    from mainspring.errors import MainspringError  # noqa: PLC0415
    from mainspring.wiring.resources import opened, store_there  # noqa: PLC0415

    found = [*local_checks.checked(settings), *await coordination_checks.checked(settings)]
    try:
        if not await store_there(settings):
            return [*found, store_checks.not_there(settings.shown_store)]
        # What is beside the store has been looked at, and nobody has to be woken.
        async with opened(settings.by_store_alone()) as resources, over(resources) as server:
            found += await store_checks.checked(resources)
            found += await cluster_checks.checked(server)
    except MainspringError as error:
        found.append(store_checks.unusable(settings.shown_store, error))
    return found


async def _server_findings(url: str, api_key: str | None) -> Sequence["Finding"]:
    from mainspring.cli import cluster_checks, local_checks  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.findings import ok  # noqa: PLC0415
    from mainspring.cli.target import speaking  # noqa: PLC0415

    async with speaking(url, key=api_key or _variable("MAINSPRING_KEY")) as server:
        return [*local_checks.versions(), ok("server", server.place), *await cluster_checks.checked(server)]


def _variable(name: str) -> str | None:
    return os.environ.get(name) or read_dotenv(Path(".env")).get(name)


def _print(found: Sequence["Finding"], *, as_json: bool) -> None:
    import json  # noqa: PLC0415 - imported when it is needed

    from mainspring.cli.findings import STYLES  # noqa: PLC0415

    for finding in found:
        if as_json:
            typer.echo(json.dumps(finding.as_json(), ensure_ascii=False))
            continue
        step = f"; {finding.step}" if finding.step else ""
        mark = typer.style(f"{finding.level:<4}", fg=STYLES[finding.level], bold=True)
        typer.echo(f"{mark}  {finding.subject}: {finding.text}{step}")
