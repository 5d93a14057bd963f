"""What the columns of a table say about an item, in words and colours for people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.text import Text

from mainspring.cli.values import json_text

Item = Mapping[str, Any]
Cell = Callable[[Item, datetime], "str | Text"]

STYLES: Mapping[str, str] = {
    "SCHEDULED": "cyan",
    "PENDING": "cyan",
    "RUNNING": "bold blue",
    "COMPLETED": "green",
    "FAILED": "bold red",
    "CANCELLED": "yellow",
    "PAUSED": "magenta",
    "SKIPPED": "dim",
    "draining": "yellow",
    "drained": "magenta",
}
_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: its title, and what it says about an item."""

    title: str
    cell: Cell
    whole: bool = False
    """Whether it is useless when shortened, like an id."""
    right: bool = False
    spare: bool = False
    """Whether it is left out where there is too little room."""


def field(
    name: str, title: str | None = None, *, whole: bool = False, right: bool = False, spare: bool = False
) -> Column:
    """A field as it is."""
    return Column(
        title=title or name.replace("_", " "),
        cell=lambda item, _: text_of(item.get(name)),
        whole=whole,
        right=right,
        spare=spare,
    )


def status() -> Column:
    """The status word in its colour."""
    return Column(title="status", cell=lambda item, _: coloured(str(item.get("status", ""))), whole=True)


def moment(name: str, title: str, *, spare: bool = False) -> Column:
    """A time, as seen from now."""
    return Column(title=title, cell=lambda item, now: relative(item.get(name), now), whole=True, spare=spare)


def coloured(word: str) -> Text:
    """A status word in its colour."""
    return Text(word, style=STYLES.get(word, ""))


def relative(value: object, now: datetime) -> str:
    """How long ago, or how soon; empty for nothing."""
    instant = instant_of(value)
    if instant is None:
        return ""
    gap = abs(instant - now)
    text = next((f"{gap // unit} {name}" for unit, name in _UNITS if gap >= unit), f"{gap.seconds} s")
    return f"in {text}" if instant > now else f"{text} ago"


def upcoming(value: object, now: datetime) -> str:
    """How soon, and `now` for what is due already; empty for nothing."""
    instant = instant_of(value)
    return "now" if instant is not None and instant <= now else relative(value, now)


def instant_of(value: object) -> datetime | None:
    """An instant of an answer."""
    return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else None


def duration(value: object) -> str:
    """Milliseconds for people."""
    if not isinstance(value, int | float):
        return ""
    return f"{value:,.0f} ms" if value < 10_000 else f"{value / 1000:,.1f} s"  # noqa: PLR2004 - five figures are too many


def text_of(value: object) -> str:
    """A value on one line, harmless to a terminal."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json_text(value)
    return harmless(" ".join(text.split()) if "\n" in text else text)


def harmless(text: str) -> str:
    """Text without what could move the cursor or change the terminal: it may come from anybody."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)


JOBS: Sequence[Column] = (
    field("id", whole=True),
    field("name"),
    field("handler"),
    status(),
    field("schedule"),
    Column(title="next", cell=lambda item, now: upcoming(item.get("next_run_time"), now), whole=True),
    moment("created_at", "added", spare=True),
)
RUNS: Sequence[Column] = (
    field("id", whole=True),
    field("job_id", "job", whole=True, spare=True),
    status(),
    moment("fire_time", "due"),
    Column(title="took", cell=lambda item, _: duration(item.get("duration_ms")), right=True),
    field("attempt", right=True, spare=True),
    field("worker_id", "worker", spare=True),
    Column(title="why", cell=lambda item, _: why(item)),
)
DEAD: Sequence[Column] = (
    field("id", "execution", whole=True),
    field("job_id", "job", whole=True, spare=True),
    moment("died_at", "died"),
    field("attempt", "attempts", right=True, spare=True),
    field("fingerprint", whole=True, spare=True),
    Column(title="why", cell=lambda item, _: why(item)),
)
WORKERS: Sequence[Column] = (
    field("id", whole=True),
    status(),
    field("host"),
    field("pid", right=True, spare=True),
    Column(title="busy", cell=lambda item, _: f"{item.get('executing', 0)} of {item.get('capacity', 0)}", right=True),
    Column(title="lanes", cell=lambda item, _: text_of(", ".join(item.get("lanes", ())))),
    moment("started_at", "started", spare=True),
    moment("last_heartbeat", "heard of"),
    Column(title="clock", cell=lambda item, _: f"{item.get('clock_skew_ms', 0):+} ms", right=True),
)
LOCKS: Sequence[Column] = (
    field("name", whole=True),
    field("holder"),
    field("token", whole=True, right=True),
    moment("expires_at", "ends"),
)


def why(item: Item) -> str:
    """The reason of an end with the skipped range that it is of, or the last line of an error."""
    error = str(item.get("error") or "").strip().rpartition("\n")[2]
    return text_of(": ".join(filter(None, (item.get("reason"), _range(item), error))))


def _range(item: Item) -> str:
    if item.get("skipped_to") in (None, item.get("fire_time")):
        return ""
    return f"{item.get('skipped_count') or 'more than 100'} fire times until {item['skipped_to']}"
