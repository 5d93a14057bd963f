"""`audit verify`: whether the record of who did what was tampered with."""

import typer

from mainspring.cli.exits import Exit
from mainspring.cli.options import with_settings
from mainspring.wiring.setting import Part
from mainspring.wiring.settings import Settings

audits = typer.Typer(help="Look into the record of who did what.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(audits, name="audit")


@audits.callback()
def audit() -> None:
    """Look into the record of who did what."""


@audits.command("verify")
@with_settings(Part.STORE)
def verify(settings: Settings) -> None:
    """Check the chain of hashes over the whole record; exit with 1 if an entry was changed or removed."""
    from mainspring.wiring.loops import run_loop  # noqa: PLC0415 - imported when it is needed
    from mainspring.wiring.resources import opened  # noqa: PLC0415

    async def main() -> tuple[int | None, int]:
        async with opened(settings, may_create=False) as resources:
            # Those that came last may not be chained yet: the rescuer does that, and there may be none.
            while await resources.store.audit.chain(1_000):
                pass
            broken = await resources.store.audit.verify()
            newest = await resources.store.audit.page(owner=None, job_id=None, before=None, limit=1)
            return broken, newest[0].number if newest else 0

    broken, newest = run_loop(main())
    if broken is not None:
        typer.echo(f"entry {broken} doesn't fit: it, or one before it, was changed or removed", err=True)
        raise typer.Exit(Exit.FAILED)
    typer.echo(f"the chain holds over {newest} entries")
