"""`dead list|show|requeue|discard`: what failed for good and waits for somebody's decision."""

import secrets
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from mainspring.cli.listing import All, Limit
from mainspring.cli.options import examples, with_server
from mainspring.cli.values import given
from mainspring.errors import Invalid, NotFound

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

Ids = Annotated[list[UUID] | None, typer.Argument(metavar="ID", help="Ids of executions.", show_default=False)]
OfJob = Annotated[UUID | None, typer.Option("--job", metavar="ID", help="Only of this job.")]
OfHandler = Annotated[str | None, typer.Option("--handler", metavar="NAME", help="Only with this handler.")]
OfFingerprint = Annotated[
    str | None, typer.Option("--fingerprint", metavar="TEXT", help="Only failures that look alike.")
]

letters = typer.Typer(help="Decide about dead letters: executions that failed for good.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(letters, name="dead")


@letters.command("list")
@with_server
async def list_(
    server: "Server",
    show: "Printer",
    *,
    job: OfJob = None,
    handler: OfHandler = None,
    fingerprint: OfFingerprint = None,
    limit: Limit = 50,
    everything: All = False,
) -> None:
    """List dead letters, newest first."""
    from mainspring.cli.columns import DEAD  # noqa: PLC0415 - imported when it is needed

    most = None if everything else limit
    found = server.listed(
        "/dead-letter",
        None if most is None else most + 1,
        job_id=job,
        handler=handler,
        fingerprint=fingerprint,
    )
    await show.items(found, DEAD, limit=most, otherwise="no dead letters")


@letters.command("show")
@with_server
async def show_(
    server: "Server",
    show: "Printer",
    *,
    execution: Annotated[UUID, typer.Argument(metavar="ID", help="The execution's id.", show_default=False)],
) -> None:
    """Show everything about a dead letter."""
    run = await server.fetch(f"/executions/{execution}")
    async for letter in server.listed("/dead-letter", None, job_id=run["job_id"]):
        if letter["id"] == str(execution):
            show.item({**run, **letter})
            return
    raise NotFound(f"execution {execution} is no dead letter: it is {str(run['status']).lower()}, or was decided about")


@letters.command(
    "requeue",
    epilog=examples(
        "mainspring dead requeue ID", "mainspring dead requeue --handler http.webhook", "mainspring dead requeue --all"
    ),
)
@with_server
async def requeue(
    server: "Server",
    show: "Printer",
    *,
    executions: Ids = None,
    job: OfJob = None,
    handler: OfHandler = None,
    fingerprint: OfFingerprint = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="How many at most.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters there are.")] = False,
) -> None:
    """Run dead letters again, each by a new execution: those named, or all that fit."""
    chosen = given({"job_id": job, "handler": handler, "fingerprint": fingerprint})
    if bool(executions) == bool(chosen or everything):
        raise Invalid("name executions, or choose by --job, --handler, --fingerprint or --all")
    for execution in executions or ():
        run = await server.requeue(execution)
        item = await server.fetch(f"/executions/{run.id}")
        show.answer(item, f"execution {run.id} runs dead letter {execution} again")
    if not executions:
        body = given({"job_id": job and str(job), "handler": handler, "fingerprint": fingerprint, "limit": limit})
        answer = await server.send("POST", "/dead-letter/requeue", body, key=secrets.token_urlsafe(16))
        show.answer(answer, f"requeued {_count(answer)}")


@letters.command("discard")
@with_server
async def discard(
    server: "Server",
    show: "Printer",
    *,
    executions: Annotated[list[UUID], typer.Argument(metavar="ID", help="Ids of executions.", show_default=False)],
) -> None:
    """Take dead letters off the list; the executions stay in history."""
    for execution in executions:
        await server.discard(execution)
        show.answer({"id": str(execution), "discarded": True}, f"dead letter {execution} is discarded")


def _count(answer: Any) -> str:
    items = answer.get("items", ()) if isinstance(answer, dict) else ()
    number = answer.get("requeued", len(items)) if isinstance(answer, dict) else len(items)
    return "1 dead letter" if number == 1 else f"{number} dead letters"
