"""The sockets of a process, and who answers there: until its store is there nobody who could help, then the API."""

import asyncio
import socket
from collections.abc import Awaitable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring import descriptors
from mainspring.api.awaiting import AwaitingStore
from mainspring.api.connections import Connections
from mainspring.api.guard import Guard
from mainspring.api.server import MOST_CONNECTIONS, Server, bind, url_of
from mainspring.errors import StoreUnavailable
from mainspring.logs import get_logger
from mainspring.wiring.network import own_names
from mainspring.wiring.process import Role
from mainspring.wiring.settings import Settings

OTHER_DESCRIPTORS = 64
"""What a process has open besides connections and what its worker executes."""
DESCRIPTORS_OF_A_SLOT = 4
"""What an execution may need: a shell command's output, its process, and what is open while it starts."""
LEAST_SHARE = 5
"""A fifth of all descriptors is for connections, however many slots there are."""

log = get_logger("mainspring.process")


class Reception:
    """Bound from the start, so that whoever calls early waits, and is never refused."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        stop: asyncio.Event,
        *,
        connections: Connections,
        hosts: frozenset[str] | None,
    ) -> None:
        self.connections = connections
        self._hosts = hosts
        self._sockets = sockets
        self._stop = stop
        self._app: ASGIApp | None = None
        self._server = Server(self._pass_on, sockets, connections)
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    def at(cls, settings: Settings, stop: asyncio.Event, *, slots: int) -> "Reception":
        """On every port that was asked for, beside *slots* of a worker; ConfigurationError if a port can't be had."""
        limit = descriptors.limit()
        most = connections_within(limit, slots, settings.max_connections)
        if most < settings.max_connections:
            log.warning("connections.fewer", asked=settings.max_connections, most=most, open_files=limit)
        return cls(
            bind(settings.host, settings.ports),
            stop,
            connections=Connections(most, settings.max_connections_per_address),
            hosts=own_names(settings),
        )

    def apologise(self, reason: StoreUnavailable) -> None:
        """Say to everybody why there is no answer yet."""
        self._answer_by(Guard(AwaitingStore(reason), hosts=self._hosts))
        self._open()

    def staffed(self, name: str, app: ASGIApp) -> Role:
        """The role called *name*, by which *app* answers from now on."""
        self._answer_by(app)

        async def run(stop: asyncio.Event, hurry: asyncio.Event) -> None:  # noqa: ARG001 - requests end within seconds
            await self._open()

        return Role(name=name, run=run)

    async def close(self) -> None:
        """Answer nobody any more; twice changes nothing."""
        self._stop.set()
        if self._serving is not None:
            await self._serving
        for each in self._sockets:
            each.close()

    def _open(self) -> "asyncio.Task[None]":
        if self._serving is None:
            self._serving = asyncio.create_task(self._server.run(self._stop))
        return self._serving

    def _answer_by(self, app: ASGIApp) -> None:
        for each in self._sockets if self._app is None else ():
            log.info("listening", url=url_of(each))
        self._app = app

    def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Not a coroutine: on the way of every request, one more would be felt."""
        assert self._app is not None  # noqa: S101 - it is served only once it is there
        return self._app(scope, receive, send)


def connections_within(limit: int, slots: int, asked: int = 0) -> int:
    """How many connections, of those *asked* for, leave enough of *limit* descriptors to a worker with *slots*."""
    left = limit - OTHER_DESCRIPTORS - DESCRIPTORS_OF_A_SLOT * slots
    return min(asked or MOST_CONNECTIONS, max(limit // LEAST_SHARE, left))
