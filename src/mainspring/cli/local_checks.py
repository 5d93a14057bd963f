"""What `doctor` can see without the store: versions, settings, folders, space and ports."""

import errno
import os
import platform
import shutil
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mainspring.cli.findings import Finding, fail, ok, warn
from mainspring.version import __version__
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import shared_folder

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE = 1024**3
TOO_LITTLE_SPACE = 64 * 1024**2
_MEBIBYTE = 1024**2


def checked(settings: Settings) -> Iterator[Finding]:
    """All of them."""
    yield from versions()
    yield _settings(settings)
    if shared_folder(settings.store_url) is not None or settings.given("data"):
        yield from folder("data folder", settings.data)
        yield from folder("journal", settings.data / "journal")
        yield from _space(settings.data)
    for port in settings.ports:
        yield _port(settings.host, port)


def versions() -> Iterator[Finding]:
    """The program's own and those of what it stands on."""
    yield ok("mainspring", __version__)
    python = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        yield fail("python", python, "install 3.11 or newer")
    else:
        yield ok("python", f"{python} on {platform.system()}")
    try:
        # The driver brings SQLite along and counts like it.
        yield ok("sqlite", ".".join(version("apsw").split(".")[:3]))
    except PackageNotFoundError:
        yield fail("sqlite", "the driver apsw isn't installed", "install mainspring again")


def folder(subject: str, path: Path) -> Iterator[Finding]:
    """Whether a folder can be used, or made when it is needed."""
    existing = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not existing.is_dir():
        yield fail(subject, f"{existing} is a file", "choose another folder with --data")
    elif not os.access(existing, os.W_OK | os.X_OK):
        yield fail(subject, f"{existing} can't be written", "change its owner or rights, or choose another with --data")
    elif not path.exists():
        yield ok(subject, f"{path} will be made when it is needed")
    else:
        yield ok(subject, f"{path} can be written")


def _settings(settings: Settings) -> Finding:
    if settings.unserved:
        text = f"{', '.join(settings.unserved)} means nothing to this version"
        return warn("settings", text, "remove it, unless another program needs it")
    given = [f"{name} from {origin}" for name, _, origin in settings.shown() if origin != "default"]
    return ok("settings", ", ".join(given) or "all have their defaults")


def _space(path: Path) -> Iterator[Finding]:
    existing = next(each for each in (path, *path.absolute().parents) if each.exists())
    free = shutil.disk_usage(existing).free
    text = f"{free // _MEBIBYTE:,} MiB are free"
    if free < TOO_LITTLE_SPACE:
        yield fail("space", text, "make room: nothing can be stored without")
    elif free < LITTLE_SPACE:
        yield warn("space", text, "make room before it is used up, or keep history shorter with --retention-weeks")
    else:
        yield ok("space", text)


def _port(host: str, port: int) -> Finding:
    subject = f"port {port}"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the server does: a connection of late must not count as a use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return fail(
                    subject, f"{host} can't be listened on: {error.strerror}", "choose another with --host or --port"
                )
        else:
            return ok(subject, f"free on {host}; no server runs there")
    if _is_ours(host, port):
        return ok(subject, f"a Mainspring answers on {host}")
    return fail(subject, f"something else uses it on {host}", "choose another with --port")


def _is_ours(host: str, port: int) -> bool:
    shown = f"[{host}]" if ":" in host else host
    try:
        with urllib.request.urlopen(f"http://{shown}:{port}/readyz", timeout=2) as answer:
            return bool(answer.read(100) == b"READY")
    except urllib.error.HTTPError as error:
        return error.read(100) == b"NOT READY"
    except OSError:
        return False
