"""Runs the blocks of one page in order, in one empty folder, as a reader would.

Python blocks share one namespace in one process; each console block is a bash of its own, so that a server started
in the background by one block serves the next. When the page ends, everything that it started is killed.

Port 8080, where Mainspring listens unless told otherwise, is replaced by a free port throughout, and the database
that pages print by an empty one, so that pages can run side by side.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from tests.docs import session
from tests.docs.blocks import Block, console, matches

PRINTED_PORT = "8080"
PRINTED_DATABASE = "postgresql://localhost/app"
PRINTED_KEYSPACE = "cassandra://localhost/mainspring"
PRINTED_REDIS = "redis://localhost:6379/0"
PATIENCE = 60.0
"""Seconds that a console block may take: one that waits for a server that died should say so, not hang."""


class BlockFailed(AssertionError):
    """A block didn't do what its page says."""


class Reader:
    """Somebody who follows one page to the letter."""

    def __init__(
        self,
        page: Path,
        folder: Path,
        *,
        printed: str = PRINTED_DATABASE,
        database: str = PRINTED_DATABASE,
        patience: float = PATIENCE,
    ) -> None:
        self.page = page
        self.printed = printed
        """The store that the page prints, and the one that stands for it."""
        self.database = database
        self.patience = patience
        self.folder = folder / "page"
        self.folder.mkdir()
        self.output = folder / "output"
        self.port = str(free_port())
        self.started: list[subprocess.Popen[str]] = []
        self.python: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def follow(self, block: Block) -> None:
        """Run or save one block; BlockFailed if it fails or prints something else than the page says."""
        if block.file is not None:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._real(block.source), encoding="utf-8")
            return
        complaint = self._run_python(block) if block.language == "python" else self._run_console(block)
        if complaint is not None:
            raise BlockFailed(f"{self.page}:{block.line}\n\n{block.source}\n{complaint}")

    def _run_python(self, block: Block) -> str | None:
        if self.python is None:
            with self.output.open("w", encoding="utf-8") as printed:
                self.python = self._start([sys.executable, session.__file__], output=subprocess.PIPE, errors=printed)
        source = "\n" * (block.line - 1) + self._real(block.source)
        ask(self.python, {"file": str(self.page), "source": source})
        reply = answer(self.python)
        if reply is None:
            return f"Python ended.\n{self._printed()}"
        traceback = json.loads(reply)
        return f"{self._printed()}{traceback}" if traceback else None

    def _run_console(self, block: Block) -> str | None:
        commands = console(block)
        script = self._real(commands.script)
        with self.output.open("w", encoding="utf-8") as printed:
            bash = ["bash", "-e", "-o", "pipefail", "-c", script]
            process = self._start(bash, output=printed, errors=subprocess.STDOUT)
        try:
            status = process.wait(self.patience)
        except subprocess.TimeoutExpired:
            return f"still not done after {self.patience:g} seconds:\n{self._printed()}{self._logs()}"
        if status != 0:
            return f"bash ended with status {status}:\n{self._printed()}"
        if commands.expected and not matches(commands.expected, self._printed()):
            return f"printed instead:\n{self._printed()}"
        return None

    def _start(self, command: list[str], *, output: IO[str] | int, errors: IO[str] | int) -> subprocess.Popen[str]:
        """Start a process in a group of its own, which __exit__ ends with all its descendants."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.PIPE if output == subprocess.PIPE else subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def _environment(self) -> dict[str, str]:
        installed = str(Path(sys.executable).parent)
        return {
            **os.environ,
            "MAINSPRING_URL": f"http://127.0.0.1:{self.port}",
            "PATH": os.pathsep.join([installed, os.environ.get("PATH", os.defpath)]),
            "PORT": self.port,
        }

    def _logs(self) -> str:
        """The end of every log that the page keeps: what was waited for may have died there."""
        return "".join(f"\n{log.name} ends with:\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log"))

    def _printed(self) -> str:
        printed = self.output.read_text(encoding="utf-8")
        return printed.replace(self.database, self.printed).replace(self.port, PRINTED_PORT)

    def _real(self, text: str) -> str:
        return text.replace(PRINTED_PORT, self.port).replace(self.printed, self.database)


def ask(process: subprocess.Popen[str], request: object) -> None:
    """Send one line; a process that has ended is noticed when its answer is missing."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> str | None:
    """Wait for one line, or for the end of the process."""
    assert process.stdout is not None
    return process.stdout.readline() or None


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
