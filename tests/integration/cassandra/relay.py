"""A wire to a node that can lose what is asked, or what is answered, without anybody being told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from mainspring.adapters.cassandra.address import Address


class Relay:
    """Passes on what clients and node say, as long as it is told to."""

    def __init__(self, node: Address) -> None:
        self._node = node
        self._ends: list[asyncio.StreamWriter] = []
        self._serving: list[asyncio.Task[None]] = []
        self.questions_pass = True
        self.answers_pass = True

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.create_task(self._serve(reader, writer)))

    def cut(self) -> None:
        """Break all connections there are; new ones can be made."""
        for end in self._ends:
            end.close()
        self._ends.clear()

    async def close(self) -> None:
        self.cut()
        await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        their_reader, their_writer = await asyncio.open_connection(self._node.hosts[0], self._node.port)
        self._ends += [writer, their_writer]
        await asyncio.gather(
            self._carry(reader, their_writer, lambda: self.questions_pass),
            self._carry(their_reader, writer, lambda: self.answers_pass),
        )

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passes: Callable[[], bool]
    ) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(65536):
                if passes():
                    writer.write(chunk)
        writer.close()


@asynccontextmanager
async def relayed(node: Address) -> AsyncIterator[tuple[Relay, int]]:
    """A relay to *node*, and the port on 127.0.0.1 that leads there."""
    relay = Relay(node)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    try:
        yield relay, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await relay.close()
        await server.wait_closed()
