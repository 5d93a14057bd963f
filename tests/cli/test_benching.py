import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mainspring.cli import benching
from tests.cli.commands import Command


def test_a_checkout_measures_with_its_own_flags(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def run(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        started.append((arguments, options["cwd"]))
        return subprocess.CompletedProcess(arguments, 3)

    monkeypatch.setattr(subprocess, "run", run)
    command("bench", "--quick", "--measure", "throughput", code=3)
    root = Path(__file__).resolve().parents[2]
    assert started == [([sys.executable, "-m", "benchmarks", "--quick", "--measure", "throughput"], root)]


def test_elsewhere_it_says_where_the_benchmarks_are(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benching, "checkout", lambda: None)
    assert "part of the repository" in command("bench", code=2).err
