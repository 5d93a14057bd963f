"""Writes what a run of the tests has shown into a file that people can read: `pytest --results TEST_RESULTS.md`."""

import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import pytest

from mainspring import __version__

SUBMISSIONS = "test_submissions.py"
"""The suite that a document names test by test, and so do the results."""
DID = "did"
"""The property by which a test says in numbers what it did, when that it passed doesn't say enough."""
VERDICTS = ("passed", "failed", "skipped")
_WORSE = {"": 0, "passed": 1, "skipped": 2, "failed": 3}
_MEANS = {"error": "failed", "xfailed": "passed", "xpassed": "failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one test."""

    name: str
    verdict: str
    seconds: float
    did: str = ""

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath(self.name.partition("::")[0])

    @property
    def folder(self) -> str:
        return self.path.parent.as_posix()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", metavar="FILE", type=Path, help="write the results there, as Markdown")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Called in the process that has heard of all tests, whoever ran them."""
    file: Path | None = config.getoption("results")
    results = list(gathered(terminalreporter.stats.items()))
    for result in results:
        if result.did:
            terminalreporter.write_line(f"{result.name}: {result.did}")
    if file is not None:
        about = f"Mainspring {__version__}, Python {platform.python_version()} on {sys.platform}"
        file.write_text(page(results, f"{about}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"), encoding="utf-8")


def gathered(stats: Iterable[tuple[str, Sequence[object]]]) -> Iterator[Result]:
    """One result per test: its setup, call and teardown take their time together, and the worst of them counts."""
    verdicts: dict[str, str] = {}
    seconds: defaultdict[str, float] = defaultdict(float)
    did: dict[str, str] = {}
    for category, reports in stats:
        verdict = _MEANS.get(category, category)
        for report in reports:
            if verdict in _WORSE and isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
                verdicts[report.nodeid] = max(verdicts.get(report.nodeid, ""), verdict, key=_WORSE.__getitem__)
                did[report.nodeid] = "; ".join(str(said) for name, said in report.user_properties if name == DID)
    for name, verdict in sorted(verdicts.items()):
        yield Result(name=name, verdict=verdict, seconds=seconds[name], did=did.get(name, ""))


def page(results: Sequence[Result], about: str) -> str:
    """The results as Markdown."""
    total = Counter(result.verdict for result in results)
    counted = ", ".join(f"{total[verdict]} {verdict}" for verdict in VERDICTS)
    sections = [f"# Test results\n\n{counted}; {about}. Written by `make test`.\n", _folders(results)]
    named = [result for result in results if result.path.name == SUBMISSIONS]
    if named:
        sections.append("## Submissions, test by test\n\n" + _list(named))
    attacks = [result for result in results if result.did]
    if attacks:
        rows = [f"| {_escaped(result.name)} | {result.verdict} | {result.did} |\n" for result in attacks]
        sections.append("## What the attacks did\n\n| attack | | did |\n| --- | --- | --- |\n" + "".join(rows))
    failed = [result for result in results if result.verdict == "failed"]
    if failed:
        sections.append("## What failed\n\n" + _list(failed))
    return "\n".join(sections)


def _folders(results: Sequence[Result]) -> str:
    lines = ["| folder | tests | passed | failed | skipped | seconds |", "| --- | --- | --- | --- | --- | --- |"]
    for folder in sorted({result.folder for result in results}):
        within = [result for result in results if result.folder == folder]
        total = Counter(result.verdict for result in within)
        counts = [str(len(within)), *(str(total[verdict]) for verdict in VERDICTS)]
        lines.append(f"| {folder} | {' | '.join(counts)} | {sum(result.seconds for result in within):.1f} |")
    return "".join(f"{line}\n" for line in lines)


def _list(results: Iterable[Result]) -> str:
    rows = [f"| {_escaped(result.name)} | {result.verdict} | {result.seconds:.1f} |\n" for result in results]
    return "| test | | seconds |\n| --- | --- | --- |\n" + "".join(rows)


def _escaped(name: str) -> str:
    # Parameters may be anything: what would end the cell, the line or the code is written otherwise.
    return "`" + name.encode("unicode_escape").decode().replace("|", "\\|").replace("`", "'") + "`"
