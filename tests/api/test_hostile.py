"""Requests that nobody means well by: none is an error of ours, and none takes long."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app
from mainspring.api.ports import ApiPorts
from mainspring.api.server import Server, bind
from mainspring.domain.outcome import Failed
from tests.api.calling import executed
from tests.api.hostile import BATCH, ID, JOB, JOBS, MALFORMED, corpus, request

PATIENCE = 20.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
UNREADABLE = b"Invalid HTTP request received."
"""What the parser below us says to what isn't HTTP, before any of our code is asked."""


@pytest.fixture
async def port(ports: ApiPorts) -> AsyncIterator[int]:
    sockets = bind("127.0.0.1", [0])
    stop = asyncio.Event()
    serving = asyncio.create_task(Server(create_app(ports), sockets).run(stop))
    yield sockets[0].getsockname()[1]
    stop.set()
    await serving


async def answered(port: int, sent: bytes) -> bytes:
    """What comes back until the connection is closed; nothing if it is closed at once."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        if sent in MALFORMED:
            writer.write_eof()
        await writer.drain()
        return (await reader.read()).removeprefix(CONTINUE)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def fault(answer: bytes) -> str | None:
    """What is wrong with an answer."""
    status, _, _ = answer[9:].partition(b" ")
    if not answer:
        return None
    if not status.isdigit() or not 200 <= int(status) < 500:
        return f"not an answer: {answer[:300]!r}"
    head, _, body = answer.partition(b"\r\n\r\n")
    if int(status) >= 400 and b"problem+json" not in head and body not in (b"", UNREADABLE):
        return f"not a problem document: {answer[:300]!r}"
    return None


def test_the_corpus_is_large() -> None:
    assert len(list(corpus())) > 1000


async def test_nothing_breaks_and_nothing_hangs(port: int, store: SqliteStore) -> None:
    made = await answered(port, request("POST", JOBS, b'{"handler":"test.echo","schedule":"@daily"}'))
    job = json.loads(made.partition(b"\r\n\r\n")[2])["id"].encode()
    await answered(port, request("POST", JOBS, b'{"handler":"test.echo"}'))
    await executed(store, Failed(error="no", permanent=True))
    faults = []
    for name, sent in corpus():
        try:
            async with asyncio.timeout(PATIENCE):
                wrong = fault(await answered(port, sent.replace(JOB.encode(), job)))
        except TimeoutError:
            wrong = "no answer"
        if wrong is not None:
            faults.append(f"{name}: {wrong}")
    assert not faults, "\n".join(faults)


async def test_a_body_that_never_comes_is_given_up(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mainspring.api.body.PATIENCE", 0.05)
    for path in (JOBS, BATCH):
        async with asyncio.timeout(PATIENCE):
            answer = await answered(port, request("POST", path, b"x" * 100)[:-60])
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_is_too_long_is_refused_before_it_is_read(port: int) -> None:
    lines = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {33 * 1024 * 1024}\r\n"
    for method, path in (("POST", JOBS), ("POST", BATCH), ("PUT", f"{JOBS}/{ID}"), ("POST", "/api/v1/locks/l/acquire")):
        sent = f"{method} {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n{{".encode()
        async with asyncio.timeout(PATIENCE):
            assert (await answered(port, sent)).startswith(b"HTTP/1.1 413 ")
