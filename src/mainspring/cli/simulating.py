"""`simulate`: the deterministic simulation that proves the whole, for anybody to repeat."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_SEEDS = "1-500"


class Simulated(StrEnum):
    """The stores that can be simulated."""

    SQLITE = "sqlite"
    BROKER = "broker"
    CASSANDRA = "cassandra"
    CASSANDRA_BROKER = "cassandra-broker"


def register(app: typer.Typer) -> None:
    """Put the command into the tree."""
    app.command("simulate")(simulate)


def simulate(
    seeds: Annotated[str, typer.Option(help="Which schedules, both ends included.", metavar="A-B")] = DEFAULT_SEEDS,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.", show_default="all cores")] = os.cpu_count()
    or 1,
    simulated: Annotated[
        Simulated,
        typer.Option(
            "--store",
            metavar="NAME",
            help="What the cluster keeps everything in: sqlite or cassandra, or broker or cassandra-broker with one.",
        ),
    ] = Simulated.SQLITE,
    ablation: Annotated[str | None, typer.Option(help="Put a defect in on purpose.", metavar="NAME")] = None,
    trace: Annotated[int | None, typer.Option(help="Print all that happens under one seed.", metavar="SEED")] = None,
    *,
    ablations: Annotated[bool, typer.Option("--ablations", help="See whether every known defect is found.")] = False,
    write: Annotated[Path | None, typer.Option(help="Write the table of ablations to a file.", metavar="FILE")] = None,
) -> None:
    """Run whole clusters in virtual time through crashes, pauses, lost replies and wrong clocks, and judge them."""
    from mainspring.testing.simulation import command  # noqa: PLC0415 - imported when it is needed
    from mainspring.testing.simulation.storage import Store  # noqa: PLC0415

    if ablations:
        held = command.ablations(cores=jobs, write=write)
    elif trace is not None:
        held = command.trace(trace, store=Store(simulated), ablation=ablation)
    else:
        held = command.simulate(seeds, cores=jobs, store=Store(simulated), ablation=ablation)
    raise typer.Exit(0 if held else 1)
