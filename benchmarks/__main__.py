"""`python -m benchmarks`: measure contenders side by side; `python -m benchmarks report`: write the page."""

import argparse
import signal
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from benchmarks import groups, report
from benchmarks.groups import GROUPS
from benchmarks.measures import MEASURES
from benchmarks.process import ROOT
from benchmarks.runner import run
from benchmarks.stage import QUICK, Sizes, names

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"


def _choice(known: list[str], text: str) -> list[str]:
    chosen = text.split(",")
    if unknown := [name for name in chosen if name not in known]:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are: {', '.join(known)}")
    return chosen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["run", "report"], default="run", help="default: run")
    parser.add_argument(
        "--group",
        type=lambda text: _choice(list(GROUPS), text),
        default=list(GROUPS),
        metavar="A,B",
        help=f"which form of Mainspring with its peers (default: all of {','.join(GROUPS)})",
    )
    parser.add_argument(
        "--contender",
        type=lambda text: _choice(names(), text),
        metavar="A,B",
        help=f"only these of {','.join(names())} (default: all of the groups)",
    )
    parser.add_argument(
        "--measure",
        type=lambda text: _choice(list(MEASURES), text),
        default=list(MEASURES),
        metavar="A,B",
        help=f"default: all of {','.join(MEASURES)}",
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each measure is taken (default 3)")
    parser.add_argument("--jobs", type=int, help=f"jobs per throughput, bulk_add and kill (default {Sizes().jobs:,})")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything works")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="of the raw JSON lines")
    parser.add_argument(
        "--add-to", type=Path, metavar="FILE", help="results of an earlier run that lacks these measures"
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="report: which results (default: the newest)")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="report: where the page is written")
    return parser


def main() -> int:
    options = _parser().parse_args()
    # An exception unwinds the contexts that end the children; the default action would leave them behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    console = Console(width=None if sys.stdout.isatty() else 200)
    if options.command == "report":
        return _report(options, console)
    sizes = QUICK if options.quick else Sizes()
    results = run(
        contenders=options.contender or groups.contenders(options.group),
        measures=options.measure,
        rounds=options.rounds,
        sizes=replace(sizes, jobs=options.jobs or sizes.jobs),
        output=options.output,
        say=lambda text: print(text, file=sys.stderr, flush=True),
        earlier=options.add_to,
    )
    report.show(results, console)
    console.print(f"raw results: {results}")
    return 0


def _report(options: argparse.Namespace, console: Console) -> int:
    found = sorted(options.output.glob("*.jsonl"))
    if options.results is None and not found:
        console.print(f"no results in {options.output}: take some first with python -m benchmarks")
        return 1
    for written in report.write(options.results or found[-1], options.page):
        console.print(f"written: {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
