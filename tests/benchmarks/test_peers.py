"""The harness runs against each peer with a few jobs; counts are checked, times never."""

import json
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # psutil ships no types
import pytest

from benchmarks.figures import load

ROOT = Path(__file__).resolve().parents[2]


def measured(contender: str, measures: str, output: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--rounds", "1", "--output", str(output)]
    subprocess.run([*command, "--contender", contender, "--measure", measures], cwd=ROOT, check=True, timeout=90)
    (results,) = output.glob("*.jsonl")
    return {record.figure.name: record.figure.value for record in load(results)}


@pytest.mark.parametrize("contender", ["huey", "apscheduler"])
def test_every_preloaded_added_and_timed_job_is_counted(contender: str, tmp_path: Path) -> None:
    figures = measured(contender, "throughput,bulk_add,single_add,idle_start,timer_lag", tmp_path)

    assert figures["throughput.executed"] == 200
    assert figures["bulk_add.stored"] == 200
    assert figures["single_add.stored"] == 100
    assert figures["idle_start.executed"] == 10
    assert figures["timer_lag.executed"] == 10
    assert not [name for name in figures if name.endswith(".failed")]


@pytest.mark.parametrize("contender", ["huey", "apscheduler"])
def test_a_killed_worker_is_restarted_until_the_store_is_empty(contender: str, tmp_path: Path) -> None:
    figures = measured(contender, "kill", tmp_path)

    assert figures["kill.kills"] == 2
    assert figures["kill.left"] == 0
    assert "kill.journalled_repeated" not in figures


def test_a_run_leaves_its_raw_lines_and_neither_files_nor_processes(tmp_path: Path) -> None:
    measured("huey", "bulk_add", tmp_path)

    (results,) = tmp_path.iterdir()
    first = json.loads(results.read_text().splitlines()[0])
    assert first["machine"]["python"]
    assert not [process for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in _words(process)]


def _words(process: psutil.Process) -> str:
    return " ".join(process.info["cmdline"] or [])
