"""What becomes of a test without what it needs: skipped on a user's machine, failed where all must be tested."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from servers.process import NotInstalled

HINT = "make test-all installs what can be installed, and runs everything as a build machine does."


def do_without(missing: str) -> NoReturn:
    """Skip the test and say what is missing; a build machine must have it."""
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def do_without_rights(wish: str) -> NoReturn:
    """Skip what an ordinary user may not do: nothing can be installed against that. A build machine's root must."""
    reason = f"{wish} isn't possible here: that needs root, and a container needs CAP_SYS_ADMIN"
    if os.geteuid() == 0:
        do_without(reason)
    pytest.skip(reason)


@contextmanager
def needing_a_program() -> Iterator[None]:
    """A block that needs a program to be installed."""
    try:
        yield
    except NotInstalled as missing:
        do_without(str(missing))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped for want of what: a line of dots doesn't."""
    for line in told(terminalreporter.stats.get("skipped", ())):
        terminalreporter.write_line(line, yellow=True)


def told(skipped: Iterable[object]) -> list[str]:
    """How many of these reports there are for each reason, and what to do about them; nothing about none."""
    reports = [report for report in skipped if isinstance(report, pytest.TestReport)]
    reasons = Counter(_reason(report) for report in reports)
    if not reasons:
        return []
    lines = [f"{count:>6,}  {reason}" for reason, count in reasons.most_common()]
    hint = [] if os.environ.get("CI") else [HINT]  # there, what can be installed is
    return ["", f"{_tests(len(reports))} skipped:", *lines, *hint]


def _reason(report: pytest.TestReport) -> str:
    # Of a skipped test, pytest keeps where that was said, and what.
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ").partition("\n")[0]


def _tests(count: int) -> str:
    return "1 test was" if count == 1 else f"{count:,} tests were"
