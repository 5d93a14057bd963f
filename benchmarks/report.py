"""The tables on the terminal, and the page and the pictures in the documentation."""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.contender import Description
from benchmarks.figures import DASH, TIMES, Record, Results, Summary, load, number, quietness, summarise
from benchmarks.groups import GROUPS, Group
from benchmarks.measures import MEASURES
from benchmarks.picture import draw
from benchmarks.stage import contender

COMPARABLE = frozenset({"jobs/s", "ms/job", "ms", "s", "%", "MiB"})
"""Units of which more or less says something; the others count what was done."""

RAW = "benchmarks.jsonl"

UNPUBLISHED = frozenset({"bulk_add", "single_add", "backlog.load"})
"""Figures that the page, its pictures and its raw lines leave out, with all that belongs to them: Mainspring's jobs are
added by the store's own verb there, without the key check and the audit entry that each job of a user passes, and the
peers' by their public interfaces. They are shown on the terminal, for whoever works on the stores."""


def show(results: Path, console: Console) -> None:
    """Print the summary of *results*, a table for each group."""
    records = load(results)
    summaries = summarise(records)
    for group in _groups(summaries):
        table = Table(title=escape(f"{group.title}. Medians [min{DASH}max] of {results.name}"))
        for column in _header(group, summaries):
            table.add_column(column)
        for row in _rows(group, summaries):
            table.add_row(*map(escape, row))
        console.print(table)
    console.print(quietness(records))


def write(results: Path, page: Path) -> list[Path]:
    """Write the page and, beside it, a picture for each group and the raw lines; return what was written."""
    summaries = summarise(_published(load(results)))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text(results), encoding="utf-8")
    pictures = [page.parent / _picture(group) for group in _groups(summaries)]
    for group, picture in zip(_groups(summaries), pictures, strict=True):
        picture.write_text(draw(group, summaries), encoding="utf-8")
    raw = page.parent / RAW
    lines = results.read_text(encoding="utf-8").splitlines(keepends=True)
    raw.write_text("".join(line for line in lines if not _left_out(json.loads(line))), encoding="utf-8")
    return [page, *pictures, raw]


def text(results: Path) -> str:
    """Markdown with the machine, the figures, and what stands behind each contender's figures."""
    machine = json.loads(results.read_text(encoding="utf-8").splitlines()[0])["machine"]
    records = _published(load(results))
    summaries = summarise(records)
    return "\n".join(
        [
            "# Benchmarks",
            "",
            f"Medians [min{DASH}max] over interleaved rounds, all contenders in the same run, everything durable: what",
            "is acknowledged is on disk. After a peer's figure stands how many times as large Mainspring's is. What",
            "has no range was taken once.",
            "",
            "Taken by `make bench`, or of one group alone by `make bench ARGS='--group postgres'`; `--quick` shows in",
            "minutes that everything works. The servers come as wheels; a peer that needs Node is left out where there",
            "is none. A PostgreSQL server has written 1 GB before it is measured, for every contender alike: one that",
            "has worked for a while uses the files of its log again instead of making them.",
            "",
            "Rates of additions aren't published: they were taken beneath the API, without the key check and the audit",
            "entry that each job of yours passes, beside the public interfaces of the peers.",
            "",
            f"This page is written by `python -m benchmarks report`; [{RAW}]({RAW}) has the raw lines.",
            "",
            "## Machine",
            "",
            *(f"- {fact}: {value}" for fact, value in machine.items()),
            "",
            quietness(records),
            "",
            *(line for group in _groups(summaries) for line in _section(group, summaries)),
            "## Measures",
            "",
            *(f"- `{name}`: {meaning}" for name, meaning in _measures(summaries)),
            "",
            "## Contenders",
            "",
            *(line for name in _everybody(summaries) for line in _about(contender(name).description)),
        ]
    )


def _published(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if not _unpublished(record.figure.name)]


def _left_out(line: Mapping[str, Any]) -> bool:
    return "figure" in line and _unpublished(line["figure"]["name"])


def _unpublished(figure: str) -> bool:
    return any(figure == name or figure.startswith(f"{name}.") for name in UNPUBLISHED)


def _section(group: Group, summaries: Results) -> Iterator[str]:
    header = _header(group, summaries)
    yield from (f"## {group.title}", "", f"![The main figures as bars]({_picture(group)})", "")
    yield from (_line(header), _line(["---"] * len(header)))
    yield from (_line(row) for row in _rows(group, summaries))
    yield ""


def _picture(group: Group) -> str:
    return f"benchmarks-{group.name}.svg"


def _measures(summaries: Results) -> Iterator[tuple[str, str]]:
    taken = {figure.split(".")[0] for figure, _ in summaries}
    for name, measure in MEASURES.items():
        if name in taken:
            meaning = (inspect.getmodule(measure) or measure).__doc__ or ""
            yield name, " ".join(meaning.split("\n\n")[0].split())


def _about(description: Description) -> list[str]:
    return [
        f"### {description.title}",
        "",
        f"- Settings: {description.settings}.",
        f"- Keeps: {description.keeps}.",
        f"- Loses: {description.loses}.",
        "",
    ]


def _everybody(summaries: Results) -> list[str]:
    return list(dict.fromkeys(name for group in _groups(summaries) for name in _present(group, summaries)))


def _present(group: Group, summaries: Results) -> list[str]:
    measured = {name for _, name in summaries}
    return [name for name in group.contenders if name in measured]


def _groups(summaries: Results) -> list[Group]:
    """Groups about which the results say something: with their subject, or if no group has that, with any peer."""
    measured = {name for _, name in summaries}
    with_subject = [group for group in GROUPS.values() if group.subject in measured]
    return with_subject or [group for group in GROUPS.values() if _present(group, summaries)]


def _header(group: Group, summaries: Results) -> list[str]:
    return ["figure", "goal", *_present(group, summaries)]


def _rows(group: Group, summaries: Results) -> list[list[str]]:
    contenders = _present(group, summaries)
    figures = dict.fromkeys(figure for figure, name in summaries if name in contenders)
    return [_row(figure, group, contenders, summaries) for figure in sorted(figures, key=_position)]


def _position(figure: str) -> int:
    """Figures of one measure together, although some contenders have more of them than others."""
    measures = list(MEASURES)
    measure = figure.split(".", maxsplit=1)[0]
    return measures.index(measure) if measure in measures else len(measures)


def _row(figure: str, group: Group, contenders: Sequence[str], summaries: Results) -> list[str]:
    own = summaries.get((figure, group.subject))
    unit = next(summaries[figure, name].unit for name in contenders if (figure, name) in summaries)
    cells = [_cell(summaries.get((figure, name)), None if name == group.subject else own) for name in contenders]
    return [f"{figure} ({unit})", _verdict(figure, group, summaries), *cells]


def _cell(summary: Summary | None, own: Summary | None) -> str:
    if summary is None:
        return DASH
    if own is None or not summary.median or summary.unit not in COMPARABLE or summary.note != own.note:
        return str(summary)
    return f"{summary} · {number(own.median / summary.median)}{TIMES}"


def _verdict(figure: str, group: Group, summaries: Results) -> str:
    own = summaries.get((figure, group.subject))
    words = {True: " reached", False: " MISSED", None: ""}
    return "; ".join(
        goal.text + words[None if own is None else goal.verdict(figure, own, summaries)]
        for goal in group.goals.get(figure, ())
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
