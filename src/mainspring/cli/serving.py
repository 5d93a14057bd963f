"""`serve`, `api`, `scheduler` and `worker`, which run until they are told to stop; and `worker list|drain|resume`."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.options import examples, with_server, with_settings
from mainspring.wiring.duties import Duty
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings

if TYPE_CHECKING:
    from mainspring.cli.printing import Printer
    from mainspring.cli.server import Server

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The worker's name, as `worker list` shows it.", show_default=False)
]

workers = typer.Typer(invoke_without_command=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.command("serve", epilog=examples("mainspring serve --samples", "mainspring serve --app handlers --port 9000"))(
        serve
    )
    app.command("api")(api)
    app.command("scheduler")(scheduler)
    app.add_typer(workers, name="worker")


@with_settings(*Part)
def serve(
    settings: Settings,
    *,
    samples: Annotated[bool, typer.Option("--samples", help="Add some sample jobs to look at.")] = False,
) -> None:
    """Run everything in one process: API, scheduler and worker."""
    _run(settings, *Duty, samples=samples)


@with_settings(Part.STORE, Part.HTTP, Part.LOG, Part.TRACES)
def api(settings: Settings) -> None:
    """Run the API alone."""
    _run(settings, Duty.API)


@with_settings(Part.STORE, Part.SCHEDULER, Part.HTTP, Part.LOG, Part.TRACES)
def scheduler(settings: Settings) -> None:
    """Run a scheduler alone; with --port it answers probes."""
    _run(settings, Duty.SCHEDULER)


@workers.callback(
    epilog=examples(
        "mainspring worker --app handlers --concurrency 8", "mainspring worker list", "mainspring worker drain worker-7"
    )
)
@with_settings(Part.STORE, Part.WORKER, Part.HTTP, Part.LOG, Part.TRACES)
def worker(settings: Settings, *, context: typer.Context) -> None:
    """Run a worker alone; with --port it answers probes. `worker list` shows those that are alive."""
    if context.invoked_subcommand is None:
        _run(settings, Duty.WORKER)


@workers.command("list")
@with_server
async def list_workers(server: "Server", show: "Printer") -> None:
    """List the workers that are alive."""
    from mainspring.cli.columns import WORKERS  # noqa: PLC0415 - imported when it is needed

    otherwise = "no worker is alive; 'mainspring worker' starts one"
    await show.items(server.listed("/workers", None), WORKERS, limit=None, otherwise=otherwise)


@workers.command("drain")
@with_server
async def drain(server: "Server", show: "Printer", *, name: Name) -> None:
    """Let a worker take no more work; what it executes may end, and its process goes on."""
    from mainspring.cli.server import worker_path  # noqa: PLC0415 - imported when it is needed

    told = await server.send("POST", worker_path(name, "drain"))
    show.answer(told, f"worker {name} is {told['status']}, {told['executing']} left")


@workers.command("resume")
@with_server
async def resume(server: "Server", show: "Printer", *, name: Name) -> None:
    """Let a worker take work again."""
    from mainspring.cli.server import worker_path  # noqa: PLC0415 - imported when it is needed

    told = await server.send("POST", worker_path(name, "resume"))
    show.answer(told, f"worker {name} is {told['status']}")


def _run(settings: Settings, *duties: Duty, samples: bool = False) -> None:
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415 - imported when it is needed
    from mainspring.wiring.running import run_process  # noqa: PLC0415

    raise typer.Exit(run_loop(run_process(settings, duties, samples=samples)))
