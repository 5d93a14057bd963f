"""Clients that send far ahead: all are answered in order, and those who take no answers take little room."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from mainspring.api.pipelining import MOST_AHEAD, PIECE
from mainspring.api.server import Server, bind

AHEAD = 20_000
ANSWERED = 2_000
LARGE = 200_000
PATIENCE = 60


class Counting:
    """An application that answers with the path and the length of the body."""

    def __init__(self) -> None:
        self.answered = 0
        self.padding = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length, more = 0, True
        while more:
            message = await receive()
            length += len(message.get("body", b""))
            more = message.get("more_body", False)
        text = f"{scope['path']} {length}\n".encode() + self.padding
        head = [(b"content-length", str(len(text)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": text})
        self.answered += 1


@pytest.fixture
def app() -> Counting:
    return Counting()


@pytest.fixture
async def port(app: Counting) -> AsyncIterator[int]:
    sockets = bind("127.0.0.1", [0])
    stop = asyncio.Event()
    serving = asyncio.create_task(Server(app, sockets).run(stop))
    yield sockets[0].getsockname()[1]
    stop.set()
    await serving


def request(path: str, body: bytes = b"", *, last: bool = False) -> bytes:
    ending = "Connection: close\r\n" if last else ""
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{ending}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def test_all_that_was_sent_ahead_is_answered_in_order(port: int) -> None:
    bodies = {7: b"x" * LARGE, MOST_AHEAD + 3: b"y" * (PIECE + 1), ANSWERED - 2: b"z" * LARGE}
    sent = b"".join(request(f"/{each}", bodies.get(each, b""), last=each == ANSWERED - 1) for each in range(ANSWERED))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(PATIENCE):
        writer.write(sent)
        answer = await reader.read()
    writer.close()
    lines = [line for line in answer.split(b"\n") if line.startswith(b"/")]
    assert lines == [f"/{each} {len(bodies.get(each, b''))}".encode() for each in range(ANSWERED)]


async def test_who_takes_no_answers_takes_little_room(app: Counting, port: int) -> None:
    app.padding = b"x" * LARGE
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", port))
    sending = asyncio.create_task(loop.sock_sendall(connection, request("/") * AHEAD))
    async with asyncio.timeout(PATIENCE):
        before = -1
        while app.answered != before or not app.answered:
            before = app.answered
            await asyncio.sleep(0.2)
    gc.collect()  # what was answered isn't held
    held = sum(isinstance(each, RequestResponseCycle) for each in gc.get_objects())
    sending.cancel()
    connection.close()
    assert held <= MOST_AHEAD + PIECE // len(request("/")) + 1
