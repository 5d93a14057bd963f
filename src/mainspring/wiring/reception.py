"""The sockets of a process, and who answers there: until its store is there nobody who could help, then the API."""

import asyncio
import socket
from collections.abc import Awaitable, Sequence

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.awaiting import AwaitingStore
from mainspring.api.server import Server, bind, url_of
from mainspring.errors import StoreUnavailable
from mainspring.wiring.process import Role
from mainspring.wiring.settings import Settings

log = structlog.get_logger("mainspring.process")


class Reception:
    """Bound from the start, so that whoever calls early waits, and is never refused."""

    def __init__(self, sockets: Sequence[socket.socket], stop: asyncio.Event) -> None:
        self._sockets = sockets
        self._stop = stop
        self._app: ASGIApp | None = None
        self._server = Server(self._pass_on, sockets)
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    def at(cls, settings: Settings, stop: asyncio.Event) -> "Reception":
        """On every port that was asked for; ConfigurationError if one can't be had."""
        return cls(bind(settings.host, settings.ports), stop)

    def apologise(self, reason: StoreUnavailable) -> None:
        """Say to everybody why there is no answer yet."""
        self._answer_by(AwaitingStore(reason))
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
