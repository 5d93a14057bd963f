"""Answers that leave in one piece.

The server writes the head of an answer and its body apart, and the event loop passes each on to the kernel at once:
two system calls, two packets and two wake-ups of the client for what is one answer. Here the two go together, and what
is alone goes with the end of the loop's turn.
"""

import asyncio
from typing import Any

from mainspring.api.connections import BoundedProtocol

WHOLE = 2
"""Most answers are a head and one body, which needn't wait for the turn's end."""
MOST_HELD = 65536
"""Bytes that are passed on without waiting for more: from here on the kernel may tell us to wait."""


class JoiningProtocol(BoundedProtocol):
    """HTTP/1.1 as the server speaks it, over `JoinedWrites`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in its base class
        """Begin to answer on *transport*."""
        super().connection_made(JoinedWrites(transport, self.loop))


class JoinedWrites(asyncio.Transport):
    """Keeps what is written for the next write or the end of the loop's turn; all else is the other transport's.

    A client may leave within the turn, and one event loop raises where the other does nothing: then we do nothing.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []
        self._length = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send *data* soon, in order."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(bytes(data))
        self._length += len(data)
        if len(self._held) == WHOLE or self._length >= MOST_HELD:
            self._flush()

    def write_eof(self) -> None:
        """Send what is held, then say that nothing more comes."""
        self._flush()
        if not self.is_closing():
            self._transport.write_eof()

    def get_write_buffer_size(self) -> int:
        """How many bytes the client hasn't taken yet."""
        return self._length + self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Send what is held, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what is held is lost."""
        self._held.clear()
        self._length = 0
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What is known about the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Leave what the client sends with the kernel."""
        if not self.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Hear the client again."""
        if not self.is_closing():
            self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand what the client sends to another."""
        self._transport.set_protocol(protocol)

    def _flush(self) -> None:
        if not self._held:
            return
        data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held.clear()
        self._length = 0
        if not self.is_closing():
            self._transport.write(data)
