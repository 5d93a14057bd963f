"""The most telling figures of a group as bars, in SVG that suits light and dark pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.figures import Results, Summary, number
from benchmarks.groups import Group
from benchmarks.stage import contender

WIDTH = 760
LABEL_WIDTH = 240
VALUE_WIDTH = 160
BAR_HEIGHT, BAR_STEP = 14, 20
HEAD, GAP = 26, 18
STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #24292f }
    .head { font-weight: 600 }
    .peer { fill: #8c959f }
    .own { fill: #0969da }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .peer { fill: #6e7681 }
      .own { fill: #4493f8 }
    }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    figure: str
    caption: str


PANELS = (
    Panel(figure="throughput", caption="Jobs per second, one worker process"),
    Panel(figure="throughput2", caption="Jobs per second, two worker processes"),
    Panel(figure="bulk_add", caption="Jobs added per second, in bulk"),
    Panel(figure="single_add.concurrent", caption="Jobs added per second, one by one from 32 callers"),
    Panel(
        figure="idle_start.p50",
        caption="Milliseconds from submission to start, idle worker, median (less is better)",
    ),
    Panel(
        figure="idle_start.one_process.p50",
        caption="Milliseconds from submission to start within one process, idle worker, median (less is better)",
    ),
    Panel(figure="timer_lag.p50", caption="Milliseconds that scheduled jobs start late, median (less is better)"),
    Panel(figure="backlog.throughput", caption="Jobs per second beside a backlog, one worker process"),
)


def draw(group: Group, results: Results) -> str:
    """One panel for each figure that was measured, the subject's bar above those of its peers.

    Where the subject took part, there is no panel without it: what a peer has besides belongs to another group.
    """
    parts: list[str] = []
    top = 0
    subject = {figure for figure, name in results if name == group.subject}
    for panel in PANELS:
        if subject and panel.figure not in subject:
            continue
        bars = [(name, results[panel.figure, name]) for name in group.contenders if (panel.figure, name) in results]
        if bars:
            parts += _panel(panel, bars, subject=group.subject, top=top)
            top += HEAD + BAR_STEP * len(bars) + GAP
    title = escape(f"Benchmarks: {group.title}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" aria-labelledby="title">',
            f'  <title id="title">{title}</title>',
            f"  <style>{STYLE}  </style>",
            *parts,
            "</svg>",
            "",
        ]
    )


def _panel(panel: Panel, bars: Sequence[tuple[str, Summary]], *, subject: str, top: int) -> list[str]:
    longest = max(summary.median for _, summary in bars) or 1.0
    lines = [f'  <text class="head" x="0" y="{top + 16}">{escape(panel.caption)}</text>']
    for index, (name, summary) in enumerate(bars):
        y = top + HEAD + index * BAR_STEP
        width = max(1.0, (WIDTH - LABEL_WIDTH - VALUE_WIDTH) * summary.median / longest)
        kind = "own" if name == subject else "peer"
        label = escape(contender(name).description.title)
        lines += [
            f'  <text x="{LABEL_WIDTH - 8}" y="{y + 11}" text-anchor="end">{label}</text>',
            f'  <rect class="{kind}" x="{LABEL_WIDTH}" y="{y}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2"/>',
            f'  <text x="{LABEL_WIDTH + width + 6:.1f}" y="{y + 11}">{_value(summary)}</text>',
        ]
    return lines


def _value(summary: Summary) -> str:
    note = f" ({summary.note})" if summary.note else ""
    return escape(f"{number(summary.median)}{note}")
