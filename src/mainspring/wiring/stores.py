"""Which store a URL means: one literal table of schemes, each with the way to open it."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from mainspring.errors import ConfigurationError
from mainspring.ports.audit import Audit
from mainspring.ports.blobs import Blobs
from mainspring.ports.changes import Changes
from mainspring.ports.checkup import Checkup
from mainspring.ports.keys import Keys
from mainspring.ports.locks import Locks
from mainspring.ports.output import Output
from mainspring.ports.sessions import Sessions
from mainspring.ports.time import Clock
from mainspring.ports.timetable import Timetable
from mainspring.ports.transactions import Transactions
from mainspring.ports.upkeep import Upkeep
from mainspring.ports.views import Views
from mainspring.ports.work import Work


class Store(Protocol):
    """An open store: one attribute per port, and the means to close it."""

    @property
    def timetable(self) -> Timetable: ...  # noqa: D102 - the ports carry the contracts
    @property
    def work(self) -> Work: ...  # noqa: D102
    @property
    def sessions(self) -> Sessions: ...  # noqa: D102
    @property
    def locks(self) -> Locks: ...  # noqa: D102
    @property
    def views(self) -> Views: ...  # noqa: D102
    @property
    def blobs(self) -> Blobs: ...  # noqa: D102
    @property
    def upkeep(self) -> Upkeep: ...  # noqa: D102
    @property
    def audit(self) -> Audit: ...  # noqa: D102
    @property
    def keys(self) -> Keys: ...  # noqa: D102
    @property
    def output(self) -> Output: ...  # noqa: D102
    @property
    def changes(self) -> Changes: ...  # noqa: D102
    @property
    def transactions(self) -> Transactions | None: ...  # noqa: D102
    @property
    def checkup(self) -> Checkup | None: ...  # noqa: D102

    @property
    def heartbeat(self) -> Callable[[], AbstractAsyncContextManager[Sessions]] | None:
        """Opens sessions on the loop of whoever calls it, for stores whose connections belong to one loop."""
        ...

    @property
    def schema(self) -> int:
        """The version of the store's schema."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of everything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How to open the stores of one scheme; the adapter is imported only when it is asked for."""

    module: str
    open: Callable[[Any, str, Clock], Awaitable[Store]]
    """Given the imported module, the URL and the clock."""
    extra: str | None = None
    """What to install with Mainspring for the adapter's driver."""


async def _open_sqlite(module: Any, url: str, clock: Clock) -> Store:
    path = file_of(url)
    _make_folder(path.parent)
    store: Store = await module.SqliteStore.open(str(path), clock=clock)
    return store


SCHEMES: Final[Mapping[str, Scheme]] = MappingProxyType(
    {
        "sqlite": Scheme(module="mainspring.adapters.sqlite.store", open=_open_sqlite),
    }
)


async def open_store(url: str, *, clock: Clock) -> Store:
    """Open what *url* names, or raise ConfigurationError with what to write or install instead."""
    name = url.partition(":")[0].lower()
    scheme = SCHEMES.get(name)
    if scheme is None:
        raise ConfigurationError(_unknown(name))
    try:
        module = import_module(scheme.module)
    except ModuleNotFoundError as error:
        if scheme.extra is None:
            raise
        raise ConfigurationError(
            f"{name}:// needs its extra: pip install 'mainspring[{scheme.extra}]' (no module {error.name!r})"
        ) from error
    return await scheme.open(module, url, clock)


def file_of(url: str) -> Path:
    """The file that an `sqlite:///` URL names: relative after three slashes, absolute after four."""
    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or path in ("", ":memory:"):
        raise ConfigurationError(
            f"{url!r} names no file: write sqlite:///folder/file.db, or sqlite:////from/the/root.db"
        )
    return Path(path)


def shared_folder(url: str) -> Path | None:
    """The folder that processes on one store have in common, if the store is a file."""
    return file_of(url).parent if url.startswith("sqlite:") else None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"the folder {folder} can't be made ({error.strerror}); choose another with --data"
        ) from error


def _unknown(name: str) -> str:
    close = get_close_matches(name, SCHEMES, n=1)
    known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
    advice = f"did you mean {close[0]}://?" if close else f"use one of {known}"
    return f"no store is called {name}://; {advice}"
