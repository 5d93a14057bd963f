"""Commands as somebody types them, in this process, and a real server for those that need one."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mainspring.cli.main import run

VARIABLES = ("PORT", "MAINSPRING_DATA", "MAINSPRING_STORE", "MAINSPRING_URL", "MAINSPRING_KEY", "MAINSPRING_HOST")
PROGRAM = "from mainspring.cli.main import run; run()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one object that it printed."""
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """The objects that it printed, one per line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """`mainspring` with the same flags at the end of each call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *always: str) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self._always = always

    def on(self, *always: str) -> "Command":
        """The same with other flags."""
        return Command(self._monkeypatch, self._capsys, *always)

    def __call__(self, *arguments: str, code: int = 0) -> Said:
        self._monkeypatch.setattr(sys, "argv", ["mainspring", *arguments, *self._always])
        with pytest.raises(SystemExit) as ended:
            run()
        captured = self._capsys.readouterr()
        said = Said(code=int(ended.value.code or 0), out=captured.out, err=captured.err)
        assert said.code == code, said
        return said


def payloads(data: Path) -> set[str]:
    """What is stored there as the payloads of all jobs, to the letter."""
    (file,) = data.glob("*.db")
    with closing(sqlite3.connect(file)) as stored:
        rows = stored.execute("SELECT payload FROM job UNION ALL SELECT payload FROM queue")
        return {payload.decode() for (payload,) in rows}


@contextmanager
def serving(folder: Path, *arguments: str, **variables: str) -> Iterator[str]:
    """A server with everything, on a free port; its URL."""
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--data", "data", "--log-format", "json", *arguments],
        cwd=folder,
        env={**clean, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield next(line["url"] for line in map(json.loads, process.stderr) if line["event"] == "listening")
    finally:
        process.terminate()
        process.communicate(timeout=60)


def typed(folder: Path, *arguments: str, given: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env={**clean, **variables},
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
