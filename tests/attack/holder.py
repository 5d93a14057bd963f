"""Connections that are held for as long as the server lets them be, each kind by a trick of its own."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

REST = 0.5
"""Seconds between two signs of life, or until a connection that was closed is opened again."""
CHUNK = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
FEW_BYTES = 4096

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
Trick = Callable[[Reader, Writer], Awaitable[None]]


async def answer_to(port: int, sent: bytes) -> bytes:
    """What comes back on a connection of its own until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def _head(method: str, path: str, *headers: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, ""]).encode()


_JSON = "Content-Type: application/json"
_CHUNKED = "Transfer-Encoding: chunked"


async def nothing(reader: Reader, _: Writer) -> None:
    """Send nothing at all."""
    await reader.read()


async def half_a_header(reader: Reader, writer: Writer) -> None:
    """Begin a header and leave it there."""
    writer.write(_head("GET", "/api/v1/jobs") + b"X-Half: ")
    await reader.read()


async def a_trickling_header(_: Reader, writer: Writer) -> None:
    """Send a header for ever, line by line."""
    writer.write(_head("GET", "/api/v1/jobs"))
    while True:
        writer.write(b"X-More: x\r\n")
        await writer.drain()
        await asyncio.sleep(REST)


async def an_idle_connection(reader: Reader, writer: Writer) -> None:
    """Ask once, as everybody does, and keep the connection."""
    writer.write(_head("GET", "/healthz") + b"\r\n")
    while await reader.read(FEW_BYTES):
        pass


async def half_a_body(reader: Reader, writer: Writer) -> None:
    """Promise more than comes."""
    writer.write(_head("POST", "/api/v1/jobs", _JSON, "Content-Length: 1000") + b'\r\n{"handler":')
    await reader.read()


async def a_trickling_body(_: Reader, writer: Writer) -> None:
    """Send a body for ever, byte by byte."""
    writer.write(_head("POST", "/api/v1/jobs", _JSON, _CHUNKED) + b"\r\n")
    while True:
        writer.write(b"1\r\n \r\n")
        await writer.drain()
        await asyncio.sleep(REST)


async def an_endless_body_after_a_refusal(_: Reader, writer: Writer) -> None:
    """Be refused for a foreign Origin, and go on sending."""
    writer.write(_head("POST", "/api/v1/jobs", _JSON, _CHUNKED, "Origin: http://evil.example") + b"\r\n")
    while True:
        writer.write(CHUNK)
        await writer.drain()
        await asyncio.sleep(REST / 10)


async def an_endless_body_that_is_too_large(_: Reader, writer: Writer) -> None:
    """Be refused for the size, and go on sending."""
    writer.write(_head("POST", "/api/v1/jobs", _JSON, _CHUNKED) + b"\r\n" + CHUNK * 300)
    while True:
        writer.write(CHUNK)
        await writer.drain()
        await asyncio.sleep(REST / 10)


async def an_event_stream(reader: Reader, writer: Writer) -> None:
    """Follow events, and hear them."""
    writer.write(_head("GET", "/api/v1/events") + b"\r\n")
    while await reader.read(FEW_BYTES):
        pass


async def a_reader_who_reads_nothing(_: Reader, writer: Writer) -> None:
    """Ask for lists again and again, and take no answer."""
    while True:
        writer.write((_head("GET", "/openapi.json") + b"\r\n") * 10)
        await writer.drain()
        await asyncio.sleep(REST)


async def a_client_far_ahead(_: Reader, writer: Writer) -> None:
    """Send thousands of requests at once, and take no answer."""
    writer.write((_head("GET", "/openapi.json") + b"\r\n") * 20_000)
    await writer.drain()
    await asyncio.Event().wait()


TRICKS: tuple[Trick, ...] = (
    nothing,
    half_a_header,
    a_trickling_header,
    an_idle_connection,
    half_a_body,
    a_trickling_body,
    an_endless_body_after_a_refusal,
    an_endless_body_that_is_too_large,
    an_event_stream,
    a_reader_who_reads_nothing,
    a_client_far_ahead,
)


class Holder:
    """Holds so many connections at once; one that the server closes is opened again after a rest."""

    def __init__(self, port: int, trick: Trick, connections: int) -> None:
        self._port = port
        self._trick = trick
        self._connections = connections
        self.opened = 0
        self.closed = 0
        """Connections that the server has ended, or never accepted."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as together:
            for _ in range(self._connections):
                together.create_task(self._hold())

    async def _hold(self) -> None:
        while True:
            # Little of an answer fits into the kernel, so that one who reads nothing is felt soon.
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FEW_BYTES)
            connection.setblocking(False)
            with contextlib.closing(connection), contextlib.suppress(OSError):
                await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", self._port))
                reader, writer = await asyncio.open_connection(sock=connection, limit=FEW_BYTES)
                self.opened += 1
                try:
                    await self._trick(reader, writer)
                finally:
                    writer.transport.abort()
            self.closed += 1
            await asyncio.sleep(REST)


@asynccontextmanager
async def held(port: int, trick: Trick, connections: int) -> AsyncIterator[Holder]:
    """The connections are held while the block runs."""
    holder = Holder(port, trick, connections)
    task = asyncio.create_task(holder.run())
    try:
        yield holder
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
