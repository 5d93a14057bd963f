"""`job add|list|show|edit|pause|resume|trigger|cancel|delete`."""

import secrets
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from mainspring.cli import describing
from mainspring.cli.listing import All, Limit, Quiet, Wait, WaitTimeout
from mainspring.cli.options import examples, with_server
from mainspring.errors import Invalid

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

Id = Annotated[UUID, typer.Argument(metavar="ID", help="The job's id, as `job list` shows it.", show_default=False)]
Ids = Annotated[list[UUID], typer.Argument(metavar="ID", help="Ids of jobs.", show_default=False)]

jobs = typer.Typer(help="Add, find and steer jobs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(jobs, name="job")


@jobs.command(
    "add",
    epilog=examples(
        'mainspring job add test.echo --payload \'{"hello": "world"}\' --wait',
        "mainspring job add http.webhook --payload @call.json --schedule '0 6 * * 1-5' --tz Europe/Berlin",
        "mainspring job add shell.command --payload '{\"command\": \"date\"}' --schedule 'in 10s' --key once-only",
    ),
)
@partial(with_server, may_create=True)
async def add(
    server: "Server",
    show: "Printer",
    *,
    handler: Annotated[str, typer.Argument(metavar="HANDLER", help="What executes it.", show_default=False)],
    payload: describing.Payload = None,
    schedule: describing.Schedule = None,
    timezone: describing.Zone = None,
    starts_at: describing.StartsAt = None,
    name: describing.Name = None,
    description: describing.Description = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Your own key: adding it again changes nothing.")
    ] = None,
    priority: describing.Priority = None,
    retries: describing.Retries = None,
    run_timeout: describing.Timeout = None,
    lane: describing.Lane = None,
    overlap: describing.Overlap = None,
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="The project it is part of.")] = None,
    allow_unknown_handler: Annotated[
        bool, typer.Option("--allow-unknown-handler", help="Let it wait for a worker that has the handler.")
    ] = False,
    wait: Wait = False,
    wait_timeout: WaitTimeout = None,
    quiet: Quiet = False,
) -> int | None:
    """Add a job; without a schedule it runs as soon as a worker is free."""
    body: dict[str, Any] = {"handler": handler} | describing.fields_of(
        payload=payload,
        schedule=schedule,
        timezone=timezone,
        starts_at=starts_at,
        name=name,
        description=description,
        priority=priority,
        retries=retries,
        timeout=run_timeout,
        lane=lane,
        overlap=overlap,
    )
    body |= {} if key is None else {"key": key}
    body |= {} if project is None else {"project_id": project}
    body |= {"allow_unknown_handler": True} if allow_unknown_handler else {}
    job = await server.send("POST", "/jobs", body, key=None if key else secrets.token_urlsafe(16))
    if quiet:
        show.text(f"{job['id']}\n")
    elif not (wait and show.as_json):
        show.answer(job, f"job {job['id']} added: {job['handler']}, {_when(job)}")
    if not wait:
        return None
    from mainspring.cli.waiting import wait_for  # noqa: PLC0415 - imported when it is needed

    return await wait_for(server, show, UUID(job["id"]), wait_timeout, quiet=quiet)


@jobs.command("list", epilog=examples("mainspring job list --status FAILED", "mainspring job list --all --json"))
@with_server
async def list_(
    server: "Server",
    show: "Printer",
    *,
    status: Annotated[str | None, typer.Option(metavar="WORD", help="SCHEDULED, RUNNING, FAILED and so on.")] = None,
    handler: Annotated[str | None, typer.Option(metavar="NAME", help="Only with this handler.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Only with this name.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Only the one with this key of yours.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this project.")] = None,
    search: Annotated[str | None, typer.Option(metavar="TEXT", help="In the name, the handler or the key.")] = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List jobs, newest first."""
    from mainspring.cli.columns import JOBS  # noqa: PLC0415 - imported when it is needed

    most = None if everything else limit
    found = server.listed(
        "/jobs",
        None if most is None else most + 1,
        status=status and status.upper(),
        handler=handler,
        name=name,
        key=key,
        project=project,
        q=search,
    )
    await show.items(found, JOBS, limit=most, otherwise="no jobs; 'mainspring job add HANDLER' adds one")


@jobs.command("show")
@with_server
async def show_(server: "Server", show: "Printer", *, job: Id) -> None:
    """Show everything about a job, and its latest executions."""
    from mainspring.cli.columns import RUNS  # noqa: PLC0415 - imported when it is needed
    from mainspring.cli.printing import table  # noqa: PLC0415

    found = await server.fetch(f"/jobs/{job}")
    if show.as_json:
        show.item(found)
        return
    runs = [run async for run in server.listed(f"/jobs/{job}/executions", 10)]
    columns = [column for column in RUNS if column.title != "job"]
    show.item(found, "", table(runs, columns, width=show.console.width) if runs else "it has not run yet")


@jobs.command(
    "edit",
    epilog=examples(
        "mainspring job edit ID --schedule '@every 10m' --priority 80", "mainspring job edit ID --payload @new.json"
    ),
)
@with_server
async def edit(
    server: "Server",
    show: "Printer",
    *,
    job: Id,
    handler: Annotated[str | None, typer.Option("--handler", metavar="NAME", help="What executes it.")] = None,
    payload: describing.Payload = None,
    schedule: describing.Schedule = None,
    timezone: describing.Zone = None,
    starts_at: describing.StartsAt = None,
    name: describing.Name = None,
    description: describing.Description = None,
    priority: describing.Priority = None,
    retries: describing.Retries = None,
    run_timeout: describing.Timeout = None,
    lane: describing.Lane = None,
    overlap: describing.Overlap = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="Only if nobody changed it since this version.")
    ] = None,
) -> None:
    """Change what is given and leave the rest; runs that exist already stay as they are."""
    body = ({} if handler is None else {"handler": handler}) | describing.fields_of(
        payload=payload,
        schedule=schedule,
        timezone=timezone,
        starts_at=starts_at,
        name=name,
        description=description,
        priority=priority,
        retries=retries,
        timeout=run_timeout,
        lane=lane,
        overlap=overlap,
    )
    if not body:
        raise Invalid("nothing to change was given; 'mainspring job edit --help' lists what can be")
    changed = await server.send("PUT", f"/jobs/{job}", body, version=version)
    show.answer(changed, f"job {job} is now at version {changed['version']}, {_when(changed)}")


@jobs.command("pause")
@with_server
async def pause(server: "Server", show: "Printer", *, jobs: Ids) -> None:
    """Let nothing fire until the job is resumed."""
    for job in jobs:
        await server.pause(job)
        show.answer(await server.fetch(f"/jobs/{job}"), f"job {job} is paused")


@jobs.command("resume")
@with_server
async def resume(server: "Server", show: "Printer", *, jobs: Ids) -> None:
    """Fire again from now on; what was missed is skipped."""
    for job in jobs:
        await server.resume(job)
        found = await server.fetch(f"/jobs/{job}")
        show.answer(found, f"job {job} is resumed, {_when(found)}")


@jobs.command("trigger", epilog=examples("mainspring job trigger ID --wait"))
@with_server
async def trigger(
    server: "Server",
    show: "Printer",
    *,
    job: Id,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Your own key: triggering again changes nothing.")
    ] = None,
    wait: Wait = False,
    wait_timeout: WaitTimeout = None,
    quiet: Quiet = False,
) -> int | None:
    """Run a job once now, beside its schedule."""
    from mainspring.cli.waiting import started  # noqa: PLC0415 - imported when it is needed

    run = await server.trigger(job, key=key)
    return await started(server, show, run, wait=wait, wait_timeout=wait_timeout, quiet=quiet)


@jobs.command("cancel")
@with_server
async def cancel(server: "Server", show: "Printer", *, jobs: Ids) -> None:
    """End the runs of a job that wait or run; the schedule stays."""
    for job in jobs:
        await server.cancel(job)
        show.answer(await server.fetch(f"/jobs/{job}"), f"the runs of job {job} are being cancelled")


@jobs.command("delete")
@with_server
async def delete(server: "Server", show: "Printer", *, jobs: Ids) -> None:
    """Cancel what runs and remove the job; its history stays until it is pruned."""
    for job in jobs:
        await server.delete(job)
        show.answer({"id": str(job), "deleted": True}, f"job {job} is deleted")


def _when(job: dict[str, Any]) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - imported when it is needed

    from mainspring.cli.columns import upcoming  # noqa: PLC0415

    if job["status"] != "SCHEDULED":
        return str(job["status"]).lower()
    if job.get("next_run_time") is None:
        return "runs when it is triggered"
    return f"runs {upcoming(job['next_run_time'], datetime.now(UTC))}"
