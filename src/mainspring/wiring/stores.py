"""Which store a URL means: one literal table of schemes, each with the way to open it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from mainspring.adapters.private_files import make_folder, narrow_file
from mainspring.errors import ConfigurationError
from mainspring.ports.audit import Audit
from mainspring.ports.blobs import Blobs
from mainspring.ports.changes import Changes
from mainspring.ports.checkup import Checkup
from mainspring.ports.keys import Keys
from mainspring.ports.locks import Locks
from mainspring.ports.output import Output
from mainspring.ports.sessions import Sessions
from mainspring.ports.signals import Herald
from mainspring.ports.tickets import Tickets
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.ports.transactions import Transactions
from mainspring.ports.upkeep import Upkeep
from mainspring.ports.views import Views
from mainspring.ports.work import Work
from mainspring.wiring.switchboard import Exchange, OpenSignals, through_folder

SIGNALS = "signals"
"""The folder of signals, beside the file of an embedded store."""


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
    def tickets(self) -> Tickets: ...  # noqa: D102
    @property
    def transactions(self) -> Transactions | None: ...  # noqa: D102
    @property
    def checkup(self) -> Checkup | None: ...  # noqa: D102

    @property
    def heartbeat(self) -> Callable[[], AbstractAsyncContextManager[Sessions]] | None:
        """Opens sessions on the loop of whoever calls it, for stores whose connections belong to one loop."""
        ...

    @property
    def shards(self) -> int:
        """Parts of the timetable that schedulers share; where there is one, one scheduler fires and others stand by."""
        ...

    @property
    def identity(self) -> str:
        """Who the store is, whatever its URL: drawn when it was made, and never the same twice."""
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
    """How to open the stores of one scheme, and how their processes wake each other.

    The adapter is imported only when it is asked for.
    """

    open: Callable[[str, Clock, Random, Herald | None], Awaitable[Store]]
    """Given the URL, and what spares the store's processes signals if the store itself carries them."""
    exists: Callable[[str], Awaitable[bool]]
    """Given the URL: whether a store was made there; StoreUnavailable where nobody answers."""
    exchange: Callable[[str, Random, AsyncExitStack], Awaitable[Exchange]]
    """Given the URL; the stack closes what is opened."""
    extra: str | None = None
    """What to install with Mainspring for the adapter's driver."""
    patience: Callable[[str], timedelta] = lambda _: timedelta()
    """Given the URL: how long a store that isn't there yet is worth waiting for to somebody who won't wait for ever."""


async def _open_sqlite(url: str, clock: Clock, _random: Random, _herald: Herald | None) -> Store:
    from mainspring.adapters.sqlite.store import SqliteStore  # noqa: PLC0415 - imported when it is asked for

    path = file_of(url)
    _make_folder(path.parent)
    for suffix in ("", "-wal", "-shm", "-journal"):
        narrow_file(path.with_name(path.name + suffix))
    return await SqliteStore.open(str(path), clock=clock)


async def _exists_as_file(url: str) -> bool:
    path = file_of(url)
    return path.exists() and path.stat().st_size > 0


async def _folder_of_sqlite(url: str, _random: Random, _closing: AsyncExitStack) -> Exchange:
    return through_folder(file_of(url).parent / SIGNALS)


async def _open_postgresql(url: str, clock: Clock, random: Random, herald: Herald | None) -> Store:
    from mainspring.adapters.postgres.store import PostgresStore  # noqa: PLC0415

    return await PostgresStore.open(url, clock=clock, random=random, herald=herald)


async def _exists_in_postgresql(url: str) -> bool:
    from mainspring.adapters.postgres.address import address  # noqa: PLC0415
    from mainspring.adapters.postgres.migrate import exists  # noqa: PLC0415

    return await exists(address(url))


async def _hub_of_postgresql(url: str, random: Random, closing: AsyncExitStack) -> Exchange:
    from mainspring.adapters.postgres.address import address  # noqa: PLC0415
    from mainspring.adapters.postgres.signals import PostgresHub  # noqa: PLC0415

    hub = await PostgresHub.open(address(url), random=random)
    closing.push_async_callback(hub.close)

    async def open_signals(listening: bool) -> OpenSignals:
        return await hub.subscribe() if listening else hub.sender()

    return Exchange(open=open_signals, herald=hub.herald)


async def _open_cassandra(url: str, clock: Clock, random: Random, _herald: Herald | None) -> Store:
    from mainspring.adapters.cassandra.store import CassandraStore  # noqa: PLC0415

    return await CassandraStore.open(url, clock=clock, random=random)


async def _exists_in_cassandra(url: str) -> bool:
    from mainspring.adapters.cassandra.address import address  # noqa: PLC0415
    from mainspring.adapters.cassandra.migrate import exists  # noqa: PLC0415

    return await exists(address(url))


def _patience_with_cassandra(url: str) -> timedelta:
    from mainspring.adapters.cassandra.address import address  # noqa: PLC0415

    return address(url).wait


async def _hub_of_cassandra(url: str, random: Random, closing: AsyncExitStack) -> Exchange:
    from mainspring.adapters.cassandra.address import address  # noqa: PLC0415
    from mainspring.adapters.cassandra.cql import CqlRows  # noqa: PLC0415
    from mainspring.adapters.cassandra.migrate import open_driver  # noqa: PLC0415
    from mainspring.adapters.cassandra.signals import CassandraHub  # noqa: PLC0415
    from mainspring.adapters.system.clock import SystemClock  # noqa: PLC0415

    clock = SystemClock()
    driver, _ = await open_driver(address(url))
    closing.push_async_callback(driver.close)
    hub = await CassandraHub.open(CqlRows(driver), clock=clock, random=random)
    closing.push_async_callback(hub.close)

    async def open_signals(listening: bool) -> OpenSignals:
        return hub.subscribe() if listening else hub.sender()

    return Exchange(open=open_signals)


_POSTGRESQL = Scheme(
    open=_open_postgresql, exists=_exists_in_postgresql, exchange=_hub_of_postgresql, extra="postgresql"
)
_CASSANDRA = Scheme(
    open=_open_cassandra,
    exists=_exists_in_cassandra,
    exchange=_hub_of_cassandra,
    extra="cassandra",
    patience=_patience_with_cassandra,
)

SCHEMES: Final[Mapping[str, Scheme]] = MappingProxyType(
    {
        "sqlite": Scheme(open=_open_sqlite, exists=_exists_as_file, exchange=_folder_of_sqlite),
        "postgresql": _POSTGRESQL,
        "postgres": _POSTGRESQL,
        "cassandra": _CASSANDRA,
        "scylla": _CASSANDRA,
    }
)


async def open_store(url: str, *, clock: Clock, random: Random, herald: Herald | None = None) -> Store:
    """Open what *url* names, or raise ConfigurationError with what to write or install instead."""
    with _adapter(url) as scheme:
        return await scheme.open(url, clock, random, herald)


async def store_exists(url: str) -> bool:
    """Whether a store was made where *url* says; StoreUnavailable where nobody answers."""
    with _adapter(url) as scheme:
        return await scheme.exists(url)


async def open_exchange(url: str, *, random: Random, closing: AsyncExitStack) -> Exchange:
    """How processes on the store that *url* names wake each other, or ConfigurationError."""
    with _adapter(url) as scheme:
        return await scheme.exchange(url, random, closing)


def patience_with(url: str) -> timedelta:
    """How long the store that *url* names may take to be there, or ConfigurationError."""
    with _adapter(url) as scheme:
        return scheme.patience(url)


@contextmanager
def _adapter(url: str) -> Iterator[Scheme]:
    name = url.partition(":")[0].lower()
    scheme = SCHEMES.get(name)
    if scheme is None:
        raise ConfigurationError(_unknown(name))
    try:
        yield scheme
    except ModuleNotFoundError as error:
        if scheme.extra is None:
            raise
        raise ConfigurationError(
            f"{name}:// needs its extra: pip install 'mainspring[{scheme.extra}]' (no module {error.name!r})"
        ) from error


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
        make_folder(folder)
    except OSError as error:
        raise ConfigurationError(
            f"the folder {folder} can't be made ({error.strerror}); choose another with --data"
        ) from error


def _unknown(name: str) -> str:
    close = get_close_matches(name, SCHEMES, n=1)
    known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
    advice = f"did you mean {close[0]}://?" if close else f"use one of {known}"
    return f"no store is called {name}://; {advice}"
