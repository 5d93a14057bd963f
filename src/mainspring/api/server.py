"""The web server inside our own process: our sockets, our signals, our log lines."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from mainspring.api.accepting import Acceptor
from mainspring.api.connections import Connections
from mainspring.api.joined_writes import JoiningProtocol
from mainspring.errors import ConfigurationError

BACKLOG = 2048
MOST_CONNECTIONS = 10_000
TICKS_TO_SWEEP = 5
GRACE = 5
"""Seconds that open requests have to end once the server was asked to stop; then their connections are closed."""
AFTER_GRACE = 1
"""Seconds more until what is still being answered to nobody is cancelled."""


def bind(host: str, ports: Sequence[int]) -> list[socket.socket]:
    """Sockets of *host* where connections wait until they are served; ConfigurationError if one can't be had."""
    with contextlib.ExitStack() as closing:
        bound = [closing.enter_context(_bind(host, port)) for port in ports]
        closing.pop_all()
        return bound


def url_of(bound: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server:
    """Serves an application on bound sockets until it is stopped."""

    def __init__(self, app: ASGIApp, sockets: Sequence[socket.socket], connections: Connections | None = None) -> None:
        """*connections* bounds them; by itself to `MOST_CONNECTIONS`."""
        self._sockets = list(sockets)
        self._server = _Embedded(
            uvicorn.Config(
                app,
                interface="asgi3",
                lifespan="off",
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nothing here depends on where a request came from
                timeout_graceful_shutdown=GRACE + AFTER_GRACE,
            ),
            Connections(MOST_CONNECTIONS) if connections is None else connections,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Answer requests until *stop* is set, then let the open ones end."""
        stopping = asyncio.create_task(self._stop_after(stop))
        try:
            await self._server.serve(self._sockets)
        finally:
            stopping.cancel()
            for each in self._sockets:
                each.close()

    async def _stop_after(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._server.should_exit = True


class _Embedded(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self._connections = connections

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections by acceptors of our own, in place of the event loop's."""
        self.servers = [Acceptor(each, self._protocol, self._connections) for each in sockets or ()]  # type: ignore[misc]  # it closes them, and no more
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % TICKS_TO_SWEEP == 0:
            self._connections.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let open requests end; that of a client which sends no more of it, or takes no answer, by losing it."""
        closing = asyncio.get_running_loop().call_later(GRACE, self._connections.abort_all)
        try:
            await super().shutdown(sockets)
        finally:
            closing.cancel()

    def _protocol(self) -> JoiningProtocol:
        return JoiningProtocol(self.config, self.server_state, self._connections)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the process: it has more to stop than a server."""
        yield


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise ConfigurationError(f"the host {host!r} can't be resolved; set --host to an address of ours") from error
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigurationError(
            f"port {port} of {host} can't be used ({error.strerror}); choose another with --port"
        ) from error
    return bound
