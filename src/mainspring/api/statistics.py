"""What became of the executions that were due within a window.

Counted from the executions themselves, newest first, and so exact; but no more than `MOST` are looked at. If there are
more, the answer says so, and from when on it counts. Totals over all time, which no window limits, are in the metrics.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from mainspring.api.representation import duration_ms, instant
from mainspring.api.words import EXECUTION_STATES, execution_word
from mainspring.domain.ids import moment_of
from mainspring.domain.run import Run
from mainspring.errors import Invalid
from mainspring.ports.views import Cursor, RunFilter, Views

MOST = 10_000
LONGEST = timedelta(days=90)
_PAGE = 500
_UNITS = {"s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_WINDOW = re.compile(r"([0-9]{1,7})([smhd])")


def read_window(text: str) -> timedelta:
    """A window like 15m, 24h or 7d; Invalid for anything else."""
    match = _WINDOW.fullmatch(text)
    window = timedelta(0) if match is None else int(match[1]) * _UNITS[match[2]]
    if not timedelta(0) < window <= LONGEST:
        raise Invalid(f"must be a time like 15m, 24h or 7d, up to {LONGEST.days}d", field="window")
    return window


async def statistics(views: Views, window: str, owner: str | None) -> dict[str, Any]:
    """The statistics of the last *window*."""
    until = await views.now()
    since = until - read_window(window)
    runs, complete = await due_since(views, since, RunFilter(owner=owner))
    covered = since if complete or not runs else max(since, moment_of(runs[-1].id))
    counts = Counter(execution_word(run.state) for run in runs)
    decided = counts["COMPLETED"] + counts["FAILED"]
    return {
        "window": window,
        "since": instant(covered),
        "until": instant(until),
        "complete": complete,
        "executions": len(runs),
        "by_status": {word: counts[word] for word in EXECUTION_STATES},
        "success_rate": counts["COMPLETED"] / decided if decided else None,
        "retried": sum(1 for run in runs if run.attempt > 1),
        "duration_ms": _durations(sorted(took for run in runs if (took := duration_ms(run)) is not None)),
    }


async def due_since(views: Views, since: datetime, where: RunFilter) -> tuple[Sequence[Run], bool]:
    """The runs, newest first, and whether they are all."""
    found: list[Run] = []
    cursor = Cursor(limit=_PAGE)
    while len(found) < MOST:
        page = await views.runs(where, cursor)
        fresh = [run for run in page.items if moment_of(run.id) >= since]
        found.extend(fresh)
        if page.next is None or len(fresh) < len(page.items) or moment_of(page.next) < since:
            return found, True
        cursor = Cursor(before=page.next, limit=_PAGE)
    return found[:MOST], False


def share(ordered: Sequence[int], part: float) -> int | None:
    """The value below which this part of them lies; None if there are none."""
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


def _durations(took: Sequence[int]) -> dict[str, float | int | None]:
    return {
        "mean": round(sum(took) / len(took), 3) if took else None,
        "p50": share(took, 0.5),
        "p95": share(took, 0.95),
        "p99": share(took, 0.99),
        "max": took[-1] if took else None,
    }
