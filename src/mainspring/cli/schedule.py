"""`schedule next`: what a schedule means, before anything depends on it."""

from datetime import UTC, datetime
from typing import Annotated

import typer

MAX_COUNT = 1000

schedules = typer.Typer(help="Look into schedules.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands into the tree."""
    app.add_typer(schedules, name="schedule")


@schedules.callback()
def schedule() -> None:
    """Look into schedules."""


@schedules.command("next")
def show_next(
    text: Annotated[str, typer.Argument(metavar="SCHEDULE", help="As in '0 6 * * 1-5' or '@every 5m'.")],
    *,
    timezone: Annotated[str, typer.Option("--tz", metavar="ZONE", help="An IANA time zone.")] = "UTC",
    count: Annotated[int, typer.Option("--count", min=1, max=MAX_COUNT, help="How many moments to show.")] = 5,
) -> None:
    """Show when a schedule fires next, in its own time zone and in UTC."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - imported when it is needed

    from mainspring.domain.schedule import After, At, Now, OnDemand, parse  # noqa: PLC0415

    now = datetime.now(UTC)
    moments: list[datetime] = []
    match parse(text, timezone=timezone):
        case OnDemand():
            typer.echo("never by itself, only when triggered")
        case Now():
            moments = [now]
        case At(instant=instant):
            moments = [instant]
        case After(delay=delay):
            moments = [now + delay]
        case recurring:
            moment: datetime | None = now
            while len(moments) < count and (moment := recurring.next(moment or now, anchor=now)) is not None:
                moments.append(moment)
    for each in moments:
        local = each.astimezone(ZoneInfo(timezone))
        typer.echo(f"{local:%a %Y-%m-%d %H:%M:%S %z}  {each:%Y-%m-%dT%H:%M:%SZ}")
