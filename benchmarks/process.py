"""The outside of a child process: started, asked, measured, and always ended."""

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil  # type: ignore[import-untyped]  # psutil ships no types

from benchmarks.contender import Place
from benchmarks.hits import VARIABLE
from benchmarks.usage import Usage, usage

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60.0
QUIT_SECONDS = 20.0
GONE_SECONDS = 1.0


class ChildFailed(Exception):
    """A child died or kept silent; the message carries the end of its stderr."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """When the child began and ended what it was asked for, on the wall clock."""

    called_ns: int
    returned_ns: int

    @property
    def seconds(self) -> float:
        return (self.returned_ns - self.called_ns) / 1e9


class Child:
    """A contender's process in *role*; ready when the constructor returns, gone when the context ends."""

    def __init__(self, program: Sequence[str], role: str, *, place: Place, hits: Path) -> None:
        self._errors = place.folder / f"{role}{place.process}.stderr"
        self._buffer = b""
        self._cpu_seconds_before_work = 0.0
        place.folder.mkdir(parents=True, exist_ok=True)
        where = ["--folder", str(place.folder), "--url", place.url, "--process", str(place.process)]
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own programs, by literal names
                [*program, role, *where],
                cwd=ROOT,
                env={**os.environ, VARIABLE: str(hits)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        try:
            self._answer(START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def ask(self, verb: str, *, within_seconds: float = 180.0, **arguments: object) -> Answer:
        """The answer to a command; `ChildFailed` if none comes in time."""
        self._send(verb, **arguments)
        return self._answer(within_seconds)

    def begin_work(self) -> None:
        """Tell the child to execute; its CPU time counts as work from here on."""
        self.count_from_now()
        self._send("work")

    def count_from_now(self) -> None:
        """Forget the CPU time used so far."""
        self._cpu_seconds_before_work = self.usage().cpu_seconds

    def await_work(self) -> None:
        """Return once the child, told before, executes."""
        self._answer(START_SECONDS)

    def cpu_seconds_of_work(self) -> float:
        return self.usage().cpu_seconds - self._cpu_seconds_before_work

    def usage(self) -> Usage:
        """CPU and memory of the process and all its descendants."""
        return usage(self._process.pid)

    def kill(self) -> None:
        """kill -9, of descendants too, parents first so that none is replaced; returns when they are gone."""
        descendants = []
        if self._process.poll() is None:
            descendants = psutil.Process(self._process.pid).children(recursive=True)
            self._process.kill()
            for descendant in descendants:
                with suppress(psutil.NoSuchProcess):
                    descendant.kill()
        self._process.wait()
        psutil.wait_procs(descendants, timeout=GONE_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._process.poll() is None:
            self._quit()
        self.kill()

    def _quit(self) -> None:
        with suppress(ChildFailed, subprocess.TimeoutExpired):
            self._send("quit")
            self._process.wait(QUIT_SECONDS)

    def _send(self, verb: str, **arguments: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": verb, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ChildFailed(f"the child ended: {self._last_errors()}") from None

    def _answer(self, within_seconds: float) -> Answer:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + within_seconds
        while b"\n" not in self._buffer:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([descriptor], [], [], remaining)[0]:
                raise ChildFailed(f"no answer within {within_seconds:.0f} s: {self._last_errors()}")
            received = os.read(descriptor, 65536)
            if not received:
                raise ChildFailed(f"the child ended: {self._last_errors()}")
            self._buffer += received
        line, self._buffer = self._buffer.split(b"\n", 1)
        return Answer(**json.loads(line))

    def _last_errors(self) -> str:
        return self._errors.read_text(errors="replace")[-2000:].strip() or "nothing on stderr"
