"""Rounds of all measures over all contenders, interleaved."""

import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import machine
from benchmarks.figures import Figure, Record, append
from benchmarks.hosts import Hosts
from benchmarks.measures import MEASURES, ONCE
from benchmarks.stage import Sizes, Stage, contender


def order(contenders: Sequence[str], round_number: int) -> list[str]:
    """A shuffled order, reversed every other round: drift of the machine favours nobody."""
    shuffled = list(contenders)
    random.Random(round_number // 2).shuffle(shuffled)
    return shuffled[::-1] if round_number % 2 else shuffled


def run(
    *,
    contenders: Sequence[str],
    measures: Sequence[str],
    rounds: int,
    sizes: Sizes,
    output: Path,
    say: Callable[[str], None],
    earlier: Path | None = None,
) -> Path:
    """Take everything, and return the file of JSON lines that holds it: behind those of an *earlier* run, if given."""
    output.mkdir(parents=True, exist_ok=True)
    results = earlier or output / time.strftime("%Y%m%dT%H%M%SZ.jsonl", time.gmtime())
    present = available(contenders, say)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=output) as scratch, Hosts() as hosts:
        if earlier is None:
            results.write_text(json.dumps({"machine": machine.describe()}) + "\n", encoding="utf-8")
        for round_number in range(rounds):
            for measure in measures:
                if measure in ONCE and round_number > 0:
                    continue
                for name in order(present, round_number):
                    say(f"round {round_number + 1}/{rounds} {measure} {name}")
                    surroundings = machine.surroundings(Path(scratch))
                    folder = Path(scratch) / f"{round_number}-{measure}-{name}"
                    stage = Stage(name=name, folder=folder, sizes=sizes, hosts=hosts)
                    for figure in _take(measure, stage, say):
                        record = Record(round=round_number, contender=name, figure=figure, surroundings=surroundings)
                        append(results, record)
                    hosts.clear()
    return results


def available(contenders: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Those that can take part on this machine; about the others, why they can't."""
    present = []
    for name in contenders:
        if reason := contender(name).unavailable():
            say(f"{name} is left out: {reason}")
        else:
            present.append(name)
    return present


def _take(measure: str, stage: Stage, say: Callable[[str], None]) -> list[Figure]:
    """The figures of one measure; a contender that fails has a figure that says so, and the run goes on."""
    try:
        return MEASURES[measure](stage)
    except Exception as failure:  # noqa: BLE001 - hours of other figures must not be lost over one contender
        say(f"{stage.name} failed in {measure}: {failure}")
        return [Figure(name=f"{measure}.failed", value=1, unit="times")]
