"""`migrate` and `seed`: commands that do one thing to the store and end."""

import typer

from mainspring.cli.options import with_settings
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.command("migrate")(migrate)
    app.command("seed")(seed)


@with_settings(Part.STORE)
def migrate(settings: Settings) -> None:
    """Create the store, or bring its schema up to date."""
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415 - imported when it is needed
    from mainspring.wiring.resources import opened  # noqa: PLC0415

    async def main() -> int:
        async with opened(settings) as resources:
            return resources.store.schema

    typer.echo(f"{settings.shown_store} has schema {run_loop(main())}")


@with_settings(Part.STORE)
def seed(settings: Settings) -> None:
    """Add some sample jobs; those that are there already stay as they are."""
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415
    from mainspring.wiring.resources import opened  # noqa: PLC0415
    from mainspring.wiring.samples import add_samples  # noqa: PLC0415

    async def main() -> None:
        async with opened(settings) as resources:
            for name, submitted in (await add_samples(resources)).items():
                typer.echo(f"{submitted.id}  {'added' if submitted.created else 'there already'}  {name}")

    run_loop(main())
