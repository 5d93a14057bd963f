"""One server for several processes: whoever comes first starts it, and it ends when the last of them has."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from servers.folder import ServerFolder


class Sharable(Protocol):
    """A server that can be left running for others."""

    folder: ServerFolder

    def start(self) -> None:
        """Return when clients are answered."""
        ...

    def url(self) -> str:
        """Where clients find it."""
        ...

    def leave(self) -> None:
        """Part from it; it ends when nobody holds its folder any more."""
        ...

    def close(self) -> None:
        """End it."""
        ...


@contextmanager
def shared(note: Path, create: Callable[[], Sharable]) -> Iterator[str]:
    """The address of a running server: the one that *note* tells of, or a new one for others to find there."""
    with note.with_suffix(".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        leave, url = _joined(note) or _started(note, create)
    try:
        yield url
    finally:
        leave()


def _joined(note: Path) -> tuple[Callable[[], None], str] | None:
    if not note.exists():
        return None
    known = json.loads(note.read_text())
    folder = ServerFolder(Path(known["folder"]))
    return (folder.release, known["url"]) if folder.hold() else None


def _started(note: Path, create: Callable[[], Sharable]) -> tuple[Callable[[], None], str]:
    server = create()
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    note.write_text(json.dumps({"folder": str(server.folder.path), "url": server.url()}))
    return server.leave, server.url()
