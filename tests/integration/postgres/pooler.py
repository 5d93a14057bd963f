"""A pooler in transaction mode, as small as it can be: a server session is lent from one ReadyForQuery to the next."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

Backend = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_READY = b"Z"
_IDLE = b"I"
_TERMINATE = b"X"


class TransactionPooler:
    """Clients log in to sessions of their own; from then on everybody gets whichever was given back last."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._idle: asyncio.LifoQueue[Backend] = asyncio.LifoQueue()
        self._opened: list[asyncio.StreamWriter] = []
        self._serving: list[asyncio.Task[None]] = []

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.create_task(self._serve(reader, writer)))

    async def close(self) -> None:
        for writer in self._opened:
            writer.close()
        await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._opened.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            backend = await asyncio.open_connection(self._host, self._port)
            self._opened.append(backend[1])
            await self._log_in(reader, writer, backend)
            self._idle.put_nowait(backend)
            while True:
                await self._lend(reader, writer)

    async def _log_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, backend: Backend) -> None:
        upwards = asyncio.create_task(_copy(reader, backend[1]))
        try:
            await _answer(backend[0], writer)
        finally:
            upwards.cancel()
            await asyncio.gather(upwards, return_exceptions=True)

    async def _lend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = await _message(reader)
        if question[:1] == _TERMINATE:
            raise ConnectionResetError
        async with asyncio.timeout(10):
            backend = await self._idle.get()
        backend[1].write(question)
        upwards = asyncio.create_task(_copy_messages(reader, backend[1]))
        try:
            while await _answer(backend[0], writer) != _IDLE:
                continue
        finally:
            upwards.cancel()
            await asyncio.gather(upwards, return_exceptions=True)
        self._idle.put_nowait(backend)


@asynccontextmanager
async def pooled(url: str) -> AsyncIterator[str]:
    """The same database through a pooler."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    pooler = TransactionPooler(parts.hostname, parts.port)
    server = await asyncio.start_server(pooler.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield parts._replace(
            netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}", query="sslmode=disable"
        ).geturl()
    finally:
        server.close()
        await pooler.close()
        await server.wait_closed()


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(int.from_bytes(head[1:], "big") - 4)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Pass a whole answer on and return the state that the session is in then."""
    while True:
        message = await _message(reader)
        writer.write(message)
        if message[:1] == _READY:
            return message[5:]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)


async def _copy_messages(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(await _message(reader))
