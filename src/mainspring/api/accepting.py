"""Taking new connections from a listening socket, as fast as there is room for them."""

import asyncio
import errno
import socket
from collections.abc import Callable

from mainspring.api.connections import Connections, Reason

AT_ONCE = 16
"""Connections that are taken before those that are open are heard again."""
PAUSE = 0.02
"""Seconds until another try, when there was no room: who calls meanwhile waits, and isn't refused."""

_NO_MORE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Acceptor:
    """Hands each new connection to a protocol. Unlike a server of the event loop it outlasts a lack of descriptors."""

    def __init__(
        self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol], connections: Connections
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._protocol = protocol
        self._connections = connections
        self._beginning: set[asyncio.Task[object]] = set()
        self._retry: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Take no more; twice changes nothing."""
        if self._retry is not None:
            self._retry.cancel()
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Return once each connection that was taken is in its protocol's hands."""
        await asyncio.gather(*self._beginning, return_exceptions=True)

    def _accept(self) -> None:
        for taken in range(AT_ONCE):
            if taken and self._connections.full:
                return  # room is made for a connection that waits: the event loop calls again if there is one
            if not self._connections.has_room(self._loop.time()):
                self._pause()
                return
            try:
                accepted, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _NO_MORE:
                    self._connections.spare_one(Reason.NO_DESCRIPTORS, self._loop.time())
                    self._pause()
                    return
                continue  # this client has gone already, or can't be reached
            accepted.setblocking(False)
            self._connections.arriving += 1
            begun = self._loop.create_task(self._begin(accepted))
            self._beginning.add(begun)
            begun.add_done_callback(self._beginning.discard)

    async def _begin(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, accepted)
        except OSError:
            accepted.close()
            self._connections.arriving -= 1

    def _pause(self) -> None:
        self._loop.remove_reader(self._listening)
        self._retry = self._loop.call_later(PAUSE, self._loop.add_reader, self._listening, self._accept)
