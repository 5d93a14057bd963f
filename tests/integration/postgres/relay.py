"""A wire to a server that can go silent: nothing passes any more, and nobody is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Passes on what clients and server say; connections made after `freeze` work, those made before are silent."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._wires: list[_Wire] = []
        self._serving: list[asyncio.Task[None]] = []
        self.url = ""
        self.questions = 0
        """How many times any client has sent something."""

    def freeze(self) -> None:
        for wire in self._wires:
            wire.frozen = True

    async def until_left(self) -> None:
        """Return when every client has gone."""
        await asyncio.gather(*self._serving)

    async def close(self) -> None:
        for wire in self._wires:
            wire.cut()
        await self.until_left()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        their_reader, their_writer = await asyncio.open_connection(self._host, self._port)
        wire = _Wire(writer, their_writer)
        self._wires.append(wire)
        downwards = asyncio.create_task(wire.carry(their_reader, writer))
        await wire.carry(reader, their_writer, self._count)
        wire.cut()
        await downwards

    def _count(self) -> None:
        self.questions += 1


class _Wire:
    def __init__(self, *ends: asyncio.StreamWriter) -> None:
        self.frozen = False
        self._ends = ends

    async def carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: Callable[[], None] = lambda: None
    ) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(65536):
                note()
                if not self.frozen:
                    writer.write(chunk)

    def cut(self) -> None:
        for end in self._ends:
            end.close()


@asynccontextmanager
async def relayed(url: str) -> AsyncIterator[Relay]:
    """The same database by way of a relay."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    relay = Relay(parts.hostname, parts.port)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    relay.url = parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}").geturl()
    try:
        yield relay
    finally:
        server.close()
        await relay.close()
        await server.wait_closed()
