"""Lines of a file as batches of jobs: what is wrong with them, and sending what isn't."""

import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mainspring.api.document import Raw, read_object, write_json
from mainspring.cli.server import Server
from mainspring.cli.values import strict_json
from mainspring.client.errors import ApiError, Conflict, Invalid
from mainspring.errors import Invalid as InvalidInput

MOST_BYTES = 8 * 1024 * 1024
"""Of lines per request; the server takes four times as much."""
MOST_FAULTS = 20
"""Lines that aren't JSON are told up to this number: a file of another kind has nothing else."""
_CHUNK = 1024 * 1024
_PLACE = re.compile(r"jobs\.(\d+)(?:\.|: |$)(.*)", re.DOTALL)

Fault = tuple[int, str]
"""A line's number, and what is wrong with it."""


class Lines:
    """The lines of a file that can be read from its beginning again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def digest(self) -> str:
        """The same for the same content."""
        self._file.seek(0)
        digest = hashlib.sha256()
        while chunk := self._file.read(_CHUNK):
            digest.update(chunk)
        return digest.hexdigest()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """The lines that aren't empty, each with its number."""
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            if line.strip():
                yield number, line


@contextmanager
def opened_lines(path: Path) -> Iterator[Lines]:
    """The lines of *path*, or of the standard input for `-`."""
    if str(path) == "-":
        with tempfile.TemporaryFile() as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
            yield Lines(spooled)
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}", field="FILE") from None
    with file:
        yield Lines(file)


class Import:
    """One import, known by its *identity*: lines are given keys made of it and their number."""

    def __init__(self, lines: Lines, *, identity: str, size: int) -> None:
        self.identity = identity
        self.lines = 0
        """How many there are, once their form was looked at."""
        self.stored = 0
        """Jobs that are in the store now, by this import or an earlier try."""
        self.existing = 0
        """Those of them that were there before."""
        self._lines = lines
        self._size = size

    def faults_of_form(self) -> Iterator[Fault]:
        """Lines that aren't JSON objects, before anything is sent."""
        faults = 0
        for number, line in self._lines:
            self.lines += 1
            try:
                self._job(number, line)
            except ValueError as error:
                faults += 1
                yield number, str(error)
                if faults == MOST_FAULTS:
                    return

    async def send(self, server: Server, progress: Progress) -> AsyncIterator[Fault]:
        """Send batch after batch; what is wrong with one is told, and the others are sent all the same."""
        task = progress.add_task("import", total=self.lines)
        for batch in self._batches():
            try:
                body = b'{"jobs":[' + b",".join([job for _, job in batch]) + b"]}"
                answer = await server.send("POST", "/jobs/batch", body)
            except (Conflict, Invalid) as error:
                for fault in _faults(error, [number for number, _ in batch]):
                    yield fault
            else:
                self.stored += len(batch)
                self.existing += len(answer["existing"])
            progress.advance(task, len(batch))

    def progress(self, *, visible: bool) -> Progress:
        """The bar, for whoever looks at a terminal."""
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not visible,
        )

    def summary(self, faults: list[Fault]) -> Mapping[str, Any]:
        """What came of it, for programs."""
        return {
            "import": self.identity,
            "lines": self.lines,
            "stored": self.stored,
            "new": self.stored - self.existing,
            "existing": self.existing,
            "faults": [{"line": number, "detail": fault} for number, fault in faults],
        }

    def sentence(self, faults: list[Fault], *, checked: bool) -> str:
        """What came of it, for people."""
        if checked and not faults:
            return f"all {self.lines:,} lines are JSON objects; nothing was sent"
        if not self.stored:
            return "nothing was stored; correct the lines and repeat the import" if faults else "there is nothing in it"
        before = f", {self.existing:,} of them from before" if self.existing else ""
        stored = f"{self.stored:,} jobs of {self.lines:,} lines are stored{before}"
        if not faults:
            return stored
        return (
            f"{stored}; nothing of the batches with faults is: correct those lines in their places and repeat with "
            f"--resume {self.identity}"
        )

    def _batches(self) -> Iterator[list[tuple[int, bytes]]]:
        batch: list[tuple[int, bytes]] = []
        length = 0
        for number, line in self._lines:
            if batch and (len(batch) == self._size or length + len(line) > MOST_BYTES):
                yield batch
                batch, length = [], 0
            batch.append((number, self._job(number, line)))
            length += len(line)
        if batch:
            yield batch

    def _job(self, number: int, line: bytes) -> bytes:
        """The job on a line, with a key, and its payload as it was written; ValueError says what is wrong."""
        try:
            job = strict_json(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"byte {error.start} isn't UTF-8") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"it isn't JSON: {error.msg} at position {error.pos}") from None
        if not isinstance(job, dict):
            raise ValueError("it isn't a JSON object")  # noqa: TRY004 - the file is wrong, not the program
        try:
            payload = read_object(line).payload
        except InvalidInput as error:
            raise ValueError(str(error)) from None
        if job.get("key") is None and job.get("jobId") is None:
            job["key"] = f"import-{self.identity}-{number}"
        return write_json(job if payload is None else {**job, "payload": Raw(payload)})


def _faults(error: ApiError, numbers: list[int]) -> Iterator[Fault]:
    """What the server found wrong, by the line instead of the index in the batch."""
    told = [(str(each.get("field", "")), str(each.get("detail", ""))) for each in error.problem.errors]
    for field, detail in told or [("", str(error))]:
        place = _PLACE.fullmatch(field) or _PLACE.match(detail)
        if place is None or int(place[1]) >= len(numbers):
            yield numbers[0], f"{detail} (in the batch from this line to line {numbers[-1]})"
        else:
            rest = f"{place[2]}: {detail}" if field else place[2]
            yield numbers[int(place[1])], rest
