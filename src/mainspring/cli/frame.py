"""One frame of `top`: looking once, and drawing what was seen."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from mainspring.cli.columns import RUNS, WORKERS, instant_of
from mainspring.cli.printing import table
from mainspring.cli.server import Server

_RUNS = [column for column in RUNS if column.title != "job"]


async def looked(server: Server, rows: int) -> Mapping[str, Any]:
    """What is going on right now."""
    return {
        "health": await server.health(),
        "workers": [each async for each in server.listed("/workers", None)],
        "executions": [each async for each in server.listed("/executions", rows)],
    }


def drawn(seen: Mapping[str, Any], url: str) -> RenderableType:
    """The frame for people."""
    health, workers, executions = seen["health"], seen["workers"], seen["executions"]
    database, queue = health.get("database", {}), health.get("queue", {})
    now = instant_of(database.get("time")) or datetime.now(UTC)
    return Group(
        _heading(url, str(health.get("status", "")), f"{now:%Y-%m-%d %H:%M:%S} UTC"),
        Columns(
            [
                _figure("waiting", max(queue.get("live", 0) - queue.get("running", 0), 0), "cyan"),
                _figure("running", queue.get("running", 0), "bold blue"),
                _figure("dead letters", queue.get("dead_letters", 0), "bold red"),
                _figure("workers", health.get("workers", 0), "green"),
                _figure("schedulers", health.get("schedulers", 0), "green"),
            ]
        ),
        Panel(table(workers, WORKERS, now) if workers else "no worker is alive", title="workers", title_align="left"),
        Panel(
            table(executions, _RUNS, now) if executions else "nothing has run yet",
            title="latest executions",
            title_align="left",
        ),
    )


def failing(error: Exception, url: str) -> RenderableType:
    """The frame while the server doesn't answer."""
    return Group(_heading(url, "away", ""), Text(str(error), style="bold red"))


def _heading(url: str, status: str, time: str) -> Text:
    style = "green" if status == "healthy" else "bold red"
    return Text.assemble(("Mainspring ", "bold"), url, " ", (status, style), " ", time, ("  q ends", "dim"))


def _figure(name: str, value: int, style: str) -> Panel:
    return Panel(Text.assemble((f"{value:,}", style if value else "dim"), f" {name}"))
