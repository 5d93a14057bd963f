"""`run list|show|cancel|retry|logs`: what ran, runs and will run."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from mainspring.cli.listing import All, Limit, Quiet, Wait, WaitTimeout
from mainspring.cli.options import examples, with_server

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

Id = Annotated[UUID, typer.Argument(metavar="ID", help="The execution's id.", show_default=False)]
Ids = Annotated[list[UUID], typer.Argument(metavar="ID", help="Ids of executions.", show_default=False)]

LOOK_AGAIN = 1.0
"""Seconds after which one looks for oneself, whatever the server has told."""
_CONTEXT = 400
"""Characters by which the place where one had stopped reading is known again."""

runs = typer.Typer(help="Look at executions and steer them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(runs, name="run")


@runs.command("list", epilog=examples("mainspring run list --job ID", "mainspring run list --status RUNNING"))
@with_server
async def list_(
    server: "Server",
    show: "Printer",
    *,
    job: Annotated[UUID | None, typer.Option(metavar="ID", help="Only of this job.")] = None,
    status: Annotated[str | None, typer.Option(metavar="WORD", help="PENDING, RUNNING, FAILED and so on.")] = None,
    worker: Annotated[str | None, typer.Option(metavar="NAME", help="Only by this worker.")] = None,
    handler: Annotated[str | None, typer.Option(metavar="NAME", help="Only with this handler.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List executions, newest first."""
    from mainspring.cli.columns import RUNS  # noqa: PLC0415 - imported when it is needed

    most = None if everything else limit
    found = server.listed(
        "/executions" if job is None else f"/jobs/{job}/executions",
        None if most is None else most + 1,
        status=status and status.upper(),
        worker=worker,
        handler=handler,
    )
    await show.items(found, RUNS, limit=most, otherwise="no executions")


@runs.command("show")
@with_server
async def show_(server: "Server", show: "Printer", *, run: Id) -> None:
    """Show everything about an execution, and its attempts."""
    from mainspring.cli.columns import field  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.printing import table  # noqa: PLC0415

    found = await server.fetch(f"/executions/{run}")
    if show.as_json:
        show.item(found)
        return
    attempts = (await server.fetch(f"/executions/{run}/attempts"))["items"]
    names = list(dict.fromkeys(name for each in attempts for name in each))
    show.item(found, "", table(attempts, [field(name) for name in names]) if attempts else "no attempt was made yet")


@runs.command("cancel")
@with_server
async def cancel(server: "Server", show: "Printer", *, runs: Ids) -> None:
    """End an execution: a waiting one at once, a running one within a heartbeat."""
    for run in runs:
        await server.cancel_execution(run)
        show.answer(await server.fetch(f"/executions/{run}"), f"execution {run} is being cancelled")


@runs.command("retry", epilog=examples("mainspring run retry ID --wait"))
@with_server
async def retry(
    server: "Server",
    show: "Printer",
    *,
    run: Id,
    wait: Wait = False,
    wait_timeout: WaitTimeout = None,
    quiet: Quiet = False,
) -> int | None:
    """Run a failed execution's job again, by a new execution."""
    from mainspring.cli.waiting import started  # noqa: PLC0415 - imported when it is needed

    again = await server.retry_execution(run)
    return await started(server, show, again, wait=wait, wait_timeout=wait_timeout, quiet=quiet)


@runs.command("logs", epilog=examples("mainspring run logs ID --follow"))
@with_server
async def logs(
    server: "Server",
    show: "Printer",
    *,
    run: Id,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the execution has ended.")] = False,
) -> None:
    """Print what an execution has printed so far."""
    from mainspring.cli.waiting import stir, stirred  # noqa: PLC0415 - imported when it is needed

    found = await server.fetch(f"/executions/{run}")
    if show.as_json and not follow:
        show.item({"id": str(run), "output": found.get("output")})
        return
    printed = str(found.get("output") or "")
    show.text(printed)
    if not follow:
        return
    async with stirred(server) as stirring:
        while found["status"] in ("PENDING", "RUNNING"):
            await stir(stirring, LOOK_AGAIN)
            found = await server.fetch(f"/executions/{run}")
            output = str(found.get("output") or "")
            show.text(news(printed, output))
            printed = output


def news(before: str, now: str) -> str:
    """What has come to an output since; only its beginning and its end are kept when it is long."""
    if now.startswith(before):
        return now[len(before) :]
    place = now.rfind(before[-_CONTEXT:])
    return now[place + len(before[-_CONTEXT:]) :] if place >= 0 else f"\n…\n{now}"
