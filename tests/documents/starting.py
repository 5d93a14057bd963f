"""Real `mainspring` processes, as a reader starts them."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mainspring.wiring.setting import settings_of
from mainspring.wiring.settings import Settings
from tests.documents.pasting import PATIENCE

_PROGRAM = "from mainspring.cli.main import run; run()"
_OURS = frozenset(variable for setting in settings_of(Settings) for variable in setting.variables)


class Started:
    """A process, and the log lines that it has written so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._lines: list[dict[str, Any]] = []
        self._more = threading.Condition()
        self._ended = False
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def lines(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """The first log lines with this event, once there are so many."""

        def found() -> list[dict[str, Any]]:
            return [line for line in self._lines if line["event"] == event][:count]

        with self._more:
            self._more.wait_for(lambda: self._ended or len(found()) == count, PATIENCE)
            assert len(found()) == count, self._lines
            return found()

    def ports(self, count: int) -> list[int]:
        """Where it listens, in the order in which that was asked for."""
        return [int(line["url"].rpartition(":")[2]) for line in self.lines("listening", count)]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.ended()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reading.join(PATIENCE)
        return code

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            for text in self.process.stderr:
                line = json.loads(text) if text.startswith("{") else {"event": text}
                with self._more:
                    self._lines.append(line)
                    self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()


@contextmanager
def started(folder: Path, *arguments: str, **variables: str) -> Iterator[Started]:
    """`mainspring` with these arguments, in *folder*; whatever is left of it in the end is killed."""
    clean = {name: value for name, value in os.environ.items() if name not in _OURS}
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments, "--log-format", "json"],
        cwd=folder,
        env={**clean, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    running = Started(process)
    try:
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        running.ended()
