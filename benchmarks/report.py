"""The table on the terminal and the page in the documentation."""

import json
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.contender import Description
from benchmarks.figures import DASH, Results, load, quietness, summarise
from benchmarks.goals import GOALS, SUBJECT
from benchmarks.stage import contender


def show(results: Path, console: Console) -> None:
    """Print the summary of *results*."""
    records = load(results)
    summaries = summarise(records)
    table = Table(title=escape(f"Medians [min{DASH}max] of {results.name}"))
    for column in _header(summaries):
        table.add_column(column)
    for row in _rows(summaries):
        table.add_row(*map(escape, row))
    console.print(table)
    console.print(quietness(records))


def page(results: Path) -> str:
    """Markdown with the machine, the figures, and what stands behind each contender's figures."""
    machine = json.loads(results.read_text(encoding="utf-8").splitlines()[0])["machine"]
    records = load(results)
    summaries = summarise(records)
    header = _header(summaries)
    return "\n".join(
        [
            "# Benchmarks",
            "",
            f"Medians [min{DASH}max] over interleaved rounds, all contenders in the same run, one worker process each.",
            "Taken by `make bench`; this page is written by `python -m benchmarks report`.",
            "",
            "## Machine",
            "",
            *(f"- {fact}: {value}" for fact, value in machine.items()),
            "",
            quietness(records),
            "",
            "## Figures",
            "",
            _line(header),
            _line(["---"] * len(header)),
            *(_line(row) for row in _rows(summaries)),
            "",
            "## Contenders",
            "",
            *(line for name in _contenders(summaries) for line in _about(contender(name).description)),
        ]
    )


def _about(description: Description) -> list[str]:
    return [
        f"### {description.title}",
        "",
        f"- Settings: {description.settings}.",
        f"- Keeps: {description.keeps}.",
        f"- Loses: {description.loses}.",
        "",
    ]


def _contenders(summaries: Results) -> list[str]:
    found = dict.fromkeys(name for _, name in summaries)
    return sorted(found, key=lambda name: (name != SUBJECT, name))


def _header(summaries: Results) -> list[str]:
    contenders = _contenders(summaries)
    ratios = [f"{SUBJECT} / {name}" for name in contenders if name != SUBJECT and SUBJECT in contenders]
    return ["figure", "goal", *contenders, *ratios]


def _rows(summaries: Results) -> list[list[str]]:
    figures = dict.fromkeys(figure for figure, _ in summaries)
    return [_row(figure, summaries) for figure in figures]


def _row(figure: str, summaries: Results) -> list[str]:
    contenders = _contenders(summaries)
    cells = [str(summaries.get((figure, name), DASH)) for name in contenders]
    return [figure, _verdict(figure, summaries), *cells, *_ratios(figure, summaries)]


def _verdict(figure: str, summaries: Results) -> str:
    goal = GOALS.get(figure)
    if goal is None:
        return ""
    own = summaries.get((figure, SUBJECT))
    if own is None:
        return goal.text
    return f"{goal.text} {'reached' if goal.reached_by(own) else 'MISSED'}"


def _ratios(figure: str, summaries: Results) -> list[str]:
    contenders = _contenders(summaries)
    own = summaries.get((figure, SUBJECT))
    if SUBJECT not in contenders:
        return []
    peers = [summaries.get((figure, name)) for name in contenders if name != SUBJECT]
    return [f"{own.median / peer.median:.2f}" if own and peer and peer.median else DASH for peer in peers]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
