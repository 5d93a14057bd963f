"""`bench`: the measurements of the repository, for whoever has it."""

import subprocess
import sys
from pathlib import Path

import typer

from mainspring.cli.options import examples
from mainspring.errors import ConfigurationError


def register(app: typer.Typer) -> None:
    """Put the command into the tree."""
    app.command(
        "bench",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        epilog=examples("mainspring bench --quick --contender mainspring", "mainspring bench --measure throughput"),
    )(bench)


def bench(context: typer.Context) -> None:
    """Measure Mainspring against its peers; from a checkout of the repository, with the flags of its benchmarks."""
    root = checkout()
    if root is None:
        raise ConfigurationError("the benchmarks are part of the repository: check it out, and type 'make bench' there")
    ended = subprocess.run([sys.executable, "-m", "benchmarks", *context.args], cwd=root, check=False)  # noqa: S603 - it is ours
    raise typer.Exit(ended.returncode)


def checkout() -> Path | None:
    """The repository that this package is run from, if it is."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "benchmarks" / "__main__.py").is_file() else None
