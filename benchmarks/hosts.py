"""The servers of one run: started when a contender first needs them, and a fresh database for each place."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

import psycopg

from benchmarks.contender import Server
from benchmarks.usage import Usage, usage
from servers.postgres import PostgresServer
from servers.valkey import ValkeyServer

S = TypeVar("S", PostgresServer, ValkeyServer)

POSTGRESQL_SETTINGS = {
    "shared_buffers": "128MB",
    "max_wal_size": "4GB",
    "min_wal_size": "1GB",
    "max_connections": "200",
    # As PostgreSQL has them; written down because the figures rest on them.
    "fsync": "on",
    "synchronous_commit": "on",
}
WRITE_A_GIGABYTE = "select pg_logical_emit_message(false, '', repeat('x', 32000000)) from generate_series(1, 32)"


class Host(Protocol):
    @property
    def pid(self) -> int: ...

    def fresh(self) -> str:
        """The URL of an empty database."""
        ...

    def settle(self, url: str) -> None:
        """Do now what the server would do by itself some time after a large change."""
        ...

    def clear(self) -> None:
        """Leave nothing of what was made since the last time, so that no measure pays for the one before."""
        ...

    def close(self) -> None: ...


class PostgresHost:
    def __init__(self) -> None:
        self._server = _started(PostgresServer(POSTGRESQL_SETTINGS))
        self._made: list[str] = []
        self._count = 0
        # A server that has worked for a while uses the files of its log again. To make them takes the disk, and the
        # faster a contender, the more of its time it would wait for that.
        _execute(self._server.url(), WRITE_A_GIGABYTE)
        self.clear()

    @property
    def pid(self) -> int:
        return int((self._server.folder.data / "postmaster.pid").read_text().splitlines()[0])

    def fresh(self) -> str:
        self._count += 1
        name = f"measure_{self._count}"
        _execute(self._server.url(), f"create database {name}")
        self._made.append(name)
        return self._server.url(name)

    def settle(self, url: str) -> None:
        _execute(url, "vacuum analyze")
        _execute(url, "checkpoint")

    def clear(self) -> None:
        for name in self._made:
            _execute(self._server.url(), f"drop database {name} with (force)")
        self._made.clear()
        _execute(self._server.url(), "checkpoint")

    def close(self) -> None:
        self._server.close()


class ValkeyHost:
    """Starting one takes a tenth of a second: each measure has a server of its own."""

    def __init__(self) -> None:
        self._server: ValkeyServer | None = None
        self._databases = 0

    @property
    def pid(self) -> int:
        return self._running().pid

    def fresh(self) -> str:
        self._databases += 1
        return self._running().url(self._databases)

    def settle(self, url: str) -> None:
        """There is nothing to do."""

    def clear(self) -> None:
        self.close()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._databases = 0

    def _running(self) -> ValkeyServer:
        if self._server is None:
            self._server = _started(ValkeyServer())
        return self._server


def _started(server: S) -> S:
    """The server, running; one that doesn't start leaves nothing behind."""
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return server


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


MAKERS: dict[Server, type[PostgresHost] | type[ValkeyHost]] = {
    Server.POSTGRESQL: PostgresHost,
    Server.VALKEY: ValkeyHost,
}


class Hosts:
    """Ends all servers with its context. A place is known by its folder."""

    def __init__(self) -> None:
        self._hosts: dict[Server, Host] = {}
        self._urls: dict[Path, str] = {}
        self._closing = ExitStack()

    def url(self, server: Server, folder: Path) -> str:
        """The database that belongs to *folder*, made when it is first asked for."""
        if folder not in self._urls:
            self._urls[folder] = self._host(server).fresh()
        return self._urls[folder]

    def settle(self, server: Server, folder: Path) -> None:
        self._host(server).settle(self.url(server, folder))

    def usage(self, server: Server) -> Usage:
        return usage(self._host(server).pid)

    def clear(self) -> None:
        """Forget all places."""
        self._urls.clear()
        for host in self._hosts.values():
            host.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def _host(self, server: Server) -> Host:
        if server not in self._hosts:
            host = MAKERS[server]()
            self._closing.callback(host.close)
            self._hosts[server] = host
        return self._hosts[server]
