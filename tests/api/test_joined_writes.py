"""What the server writes piece by piece leaves in one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from mainspring.api.joined_writes import MOST_HELD, JoinedWrites


class Wire(asyncio.Transport):
    """Remembers each piece that is passed on, and how it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.end: str | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.end = "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def is_closing(self) -> bool:
        return self.end is not None


@asynccontextmanager
async def a_turn(wire: Wire) -> AsyncIterator[JoinedWrites]:
    """What happens in the block happens before the loop turns, which it then does."""
    yield JoinedWrites(wire, asyncio.get_running_loop())
    await asyncio.sleep(0)


async def test_a_head_waits_for_its_body_and_no_longer() -> None:
    wire = Wire()
    async with a_turn(wire) as transport:
        transport.write(b"head ")
        assert wire.sent == []
        transport.write(b"body")
        assert wire.sent == [b"head body"]
    assert wire.sent == [b"head body"]


async def test_what_is_alone_leaves_with_the_end_of_the_turn() -> None:
    wire = Wire()
    async with a_turn(wire) as transport:
        for piece in (b"head ", b"body", b", more"):
            transport.write(piece)
        assert wire.sent == [b"head body"]
    assert wire.sent == [b"head body", b", more"]
    transport.write(b"next")
    await asyncio.sleep(0)
    assert wire.sent == [b"head body", b", more", b"next"]


async def test_much_is_passed_on_at_once() -> None:
    wire = Wire()
    async with a_turn(wire) as transport:
        transport.write(b"x" * MOST_HELD)
        assert wire.sent == [b"x" * MOST_HELD]
    assert len(wire.sent) == 1


async def test_what_was_written_is_sent_before_the_end() -> None:
    wire = Wire()
    async with a_turn(wire) as transport:
        transport.write(b"last words")
        transport.close()
        assert (wire.sent, wire.end) == ([b"last words"], "closed")
    assert len(wire.sent) == 1


async def test_an_abort_sends_nothing_more() -> None:
    wire = Wire()
    async with a_turn(wire) as transport:
        transport.write(b"last words")
        transport.abort()
    assert (wire.sent, wire.end) == ([], "aborted")


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_nothing_is_done_for_a_client_that_left(run: Callable[..., None]) -> None:
    faults: list[dict[str, Any]] = []

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, fault: faults.append(fault))
        transport, _ = await loop.create_connection(asyncio.Protocol, *listening.getsockname())
        joined = JoinedWrites(transport, loop)
        joined.pause_reading()
        transport.abort()
        await asyncio.sleep(0.01)
        joined.write(b"what waits for the end of the turn")
        await asyncio.sleep(0.01)
        joined.resume_reading()
        joined.pause_reading()
        joined.write_eof()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        run(leave())
    assert faults == []
