"""`serve`, `api`, `scheduler` and `worker`: the commands that run until they are told to stop."""

from typing import Annotated

import typer

from mainspring.cli.options import with_settings
from mainspring.wiring.duties import Duty
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.command("serve")(serve)
    app.command("api")(api)
    app.command("scheduler")(scheduler)
    app.command("worker")(worker)


@with_settings(*Part)
def serve(
    settings: Settings,
    *,
    samples: Annotated[bool, typer.Option("--samples", help="Add some sample jobs to look at.")] = False,
) -> None:
    """Run everything in one process: API, scheduler and worker."""
    _run(settings, *Duty, samples=samples)


@with_settings(Part.STORE, Part.HTTP, Part.LOG)
def api(settings: Settings) -> None:
    """Run the API alone."""
    _run(settings, Duty.API)


@with_settings(Part.STORE, Part.SCHEDULER, Part.HTTP, Part.LOG)
def scheduler(settings: Settings) -> None:
    """Run a scheduler alone; with --port it answers probes."""
    _run(settings, Duty.SCHEDULER)


@with_settings(Part.STORE, Part.WORKER, Part.HTTP, Part.LOG)
def worker(settings: Settings) -> None:
    """Run a worker alone; with --port it answers probes."""
    _run(settings, Duty.WORKER)


def _run(settings: Settings, *duties: Duty, samples: bool = False) -> None:
    from mainspring.wiring.process import run_loop  # noqa: PLC0415 - imported when it is needed
    from mainspring.wiring.running import run_process  # noqa: PLC0415

    raise typer.Exit(run_loop(run_process(settings, duties, samples=samples)))
