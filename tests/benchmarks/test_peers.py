"""The harness runs against each peer with a few jobs; counts are checked, times never."""

import json
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # psutil ships no types
import pytest

from benchmarks.contender import KeepsHistory
from benchmarks.figures import load
from benchmarks.hosts import Hosts
from benchmarks.measures import backlog
from benchmarks.stage import QUICK, Stage, contender, names
from tests.missing import do_without

ROOT = Path(__file__).resolve().parents[2]


def measured(name: str, measures: str, output: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--rounds", "1", "--output", str(output)]
    subprocess.run([*command, "--contender", name, "--measure", measures], cwd=ROOT, check=True, timeout=240)
    (results,) = output.glob("*.jsonl")
    return {record.figure.name: record.figure.value for record in load(results)}


GATE = {"mainspring", "mainspring_postgres", "huey"}
"""One or two of each kind; the others take minutes together, and are for `make chaos`."""


@pytest.fixture(params=[name if name in GATE else pytest.param(name, marks=pytest.mark.chaos) for name in names()])
def present(request: pytest.FixtureRequest) -> str:
    """The name of a contender that can take part here."""
    name: str = request.param
    if reason := contender(name).unavailable():
        do_without(reason)
    return name


@pytest.mark.slow
def test_every_preloaded_added_and_timed_job_is_counted(present: str, tmp_path: Path) -> None:
    embedded = contender(present).traits.server is None
    figures = measured(present, "throughput,bulk_add,single_add,idle_start,timer_lag", tmp_path)

    assert figures["throughput.executed"] == 200
    assert figures["bulk_add.stored"] == 200
    assert figures["single_add.stored"] == 150
    assert figures["idle_start.executed"] == 10
    assert figures.get("idle_start.one_process.executed", 0) == (10 if embedded else 0)
    assert figures["timer_lag.executed"] == 10
    assert figures["timer_lag.early"] == 0
    assert ("throughput.server_cpu" in figures) == (not embedded)
    assert not [name for name in figures if name.endswith(".failed")]


@pytest.mark.slow
def test_two_workers_share_the_jobs_and_one_takes_over_from_the_other(tmp_path: Path) -> None:
    figures = measured("huey", "throughput2,takeover", tmp_path)

    assert figures["throughput2.executed"] == 200
    assert figures["takeover.missing"] <= 1  # Huey deletes a job before it runs


@pytest.mark.chaos
@pytest.mark.parametrize("name", ["huey", "apscheduler"])
def test_a_killed_worker_is_restarted_until_the_store_is_empty(name: str, tmp_path: Path) -> None:
    figures = measured(name, "kill", tmp_path)

    assert figures["kill.kills"] == 2
    assert figures["kill.left"] == 0
    assert "kill.journalled_repeated" not in figures


@pytest.mark.slow
@pytest.mark.chaos
def test_what_a_dead_worker_of_ours_had_journalled_is_known_to_the_judge(tmp_path: Path) -> None:
    figures = measured("mainspring_postgres", "kill,sessions", tmp_path)

    assert figures["kill.lost"] == 0
    assert figures["kill.journalled_repeated"] == 0
    assert figures["sessions"] == 20


@pytest.mark.chaos
def test_the_same_is_measured_beside_a_backlog(tmp_path: Path) -> None:
    figures = measured("huey", "backlog", tmp_path)

    assert figures["backlog.waiting"] == 500
    assert figures["backlog.history"] == 0
    assert {"backlog.throughput2.ratio", "backlog.idle_start.p50.ratio"} <= figures.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names() if isinstance(contender(name), KeepsHistory)])
def test_a_history_is_filled_without_touching_what_waits(name: str, tmp_path: Path) -> None:
    with Hosts() as hosts:
        stage = Stage(name=name, folder=tmp_path, sizes=QUICK, hosts=hosts)

        assert backlog.remember(stage) == QUICK.history
        assert stage.waiting() == 0


def test_a_run_leaves_its_raw_lines_and_neither_files_nor_processes(tmp_path: Path) -> None:
    measured("huey", "bulk_add", tmp_path)

    (results,) = tmp_path.iterdir()
    first = json.loads(results.read_text().splitlines()[0])
    assert first["machine"]["python"]
    assert not [process for process in psutil.process_iter(["cmdline"]) if str(tmp_path) in _words(process)]


def _words(process: psutil.Process) -> str:
    return " ".join(process.info["cmdline"] or [])
