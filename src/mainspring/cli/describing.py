"""The flags that describe a job, the same when it is added and when it is edited."""

from typing import Annotated, Any

import typer

from mainspring.cli.values import given, milliseconds_of, payload_of

Payload = Annotated[
    str | None,
    typer.Option("--payload", metavar="JSON", help="What the handler is given: JSON, @file, or - for standard input."),
]
Schedule = Annotated[
    str | None,
    typer.Option("--schedule", metavar="WHEN", help="As in '0 6 * * 1-5', '@every 5m', 'in 10s' or an instant."),
]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="The IANA time zone of the schedule.")]
StartsAt = Annotated[
    str | None, typer.Option("--starts-at", metavar="INSTANT", help="No moment of the schedule before this.")
]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="A name for people.")]
Description = Annotated[str | None, typer.Option("--description", metavar="TEXT", help="What it is for.")]
Priority = Annotated[
    int | None, typer.Option("--priority", metavar="N", min=0, max=100, help="0 to 100, 100 first; 50 unless given.")
]
Retries = Annotated[
    int | None, typer.Option("--retries", metavar="N", min=0, help="How often it is tried again; 3 unless given.")
]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="How long a try may take; 5m unless given.")
]
Lane = Annotated[str | None, typer.Option("--lane", metavar="LANE", help="The queue; the handler's own unless given.")]
Overlap = Annotated[
    str | None,
    typer.Option("--overlap", metavar="POLICY", help="While the last run goes on: allow, skip, wait or replace."),
]


def fields_of(
    *,
    payload: str | None,
    schedule: str | None,
    timezone: str | None,
    starts_at: str | None,
    name: str | None,
    description: str | None,
    priority: int | None,
    retries: int | None,
    timeout: str | None,
    lane: str | None,
    overlap: str | None,
) -> dict[str, Any]:
    """The fields of the wire that these flags mean, without those that weren't given."""
    fields = given(
        {
            "schedule": schedule,
            "timezone": timezone,
            "starts_at": starts_at,
            "name": name,
            "description": description,
            "priority": priority,
            "max_retries": retries,
            "timeout_ms": None if timeout is None else milliseconds_of(timeout, "--timeout"),
            "lane": lane,
            "overlap": overlap,
        }
    )
    # Last and apart, because null is a payload too.
    return fields if payload is None else {**fields, "payload": payload_of(payload)}
