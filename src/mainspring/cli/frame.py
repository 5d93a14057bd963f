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
        "metrics": await server.metrics(),
        "workers": [each async for each in server.listed("/workers", None)],
        "executions": [each async for each in server.listed("/executions", rows)],
    }


def ended(seen: Mapping[str, Any]) -> int:
    """How many executions have ended since the store began."""
    totals: Mapping[str, int] = seen["metrics"].get("totals", {})
    return sum(totals.get(word, 0) for word in ("completed", "failed", "cancelled"))


def drawn(seen: Mapping[str, Any], url: str, rate: float | None = None) -> RenderableType:
    """The frame for people; *rate* is how many executions ended a second of late."""
    health, metrics, workers, executions = (seen[name] for name in ("health", "metrics", "workers", "executions"))
    totals = metrics.get("totals", {})
    now = instant_of(health.get("database", {}).get("time")) or datetime.now(UTC)
    return Group(
        _heading(url, str(health.get("status", "")), f"{now:%Y-%m-%d %H:%M:%S} UTC"),
        Columns(
            [
                _figure("waiting", metrics.get("waiting"), "cyan"),
                _figure("running", metrics.get("running"), "bold blue"),
                _figure("completed", totals.get("completed"), "green"),
                _figure("failed", totals.get("failed"), "red"),
                _figure("dead letters", metrics.get("dead_letters"), "bold red"),
                _figure("ended a second", None if rate is None else round(rate), "bold"),
            ]
        ),
        Panel(
            table(workers, WORKERS, now) if workers else "no worker is alive",
            title=f"workers: {len(workers)}, schedulers: {metrics.get('schedulers', 0)}",
            title_align="left",
        ),
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


def _figure(name: str, value: int | None, style: str) -> Panel:
    # Whoever sees only its own things isn't told of the whole.
    text = "?" if value is None else f"{value:,}"
    return Panel(Text.assemble((text, style if value else "dim"), f" {name}"))
