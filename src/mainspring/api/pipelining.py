"""A bound on requests that a client sends ahead, without waiting for the answers to those before.

The server parses all that it has read, keeps every request until its turn comes, and reads on after each answer. What
was 30 bytes takes some kilobytes then, and one connection that takes no answers takes as much memory as it likes.
"""

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_AHEAD = 16
"""Requests that wait for the one before; while there are so many, the next bytes are left as they came."""
PIECE = 4096
"""Bytes that are parsed at once: requests that lie in them all wait together."""


class BoundedPipeline(HttpToolsProtocol):
    """HTTP/1.1 as the server speaks it, to clients that may be far ahead."""

    unparsed = b""
    """What was read before there was room for the requests in it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in its base class
        """Begin to answer on *transport*."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self)

    def data_received(self, data: bytes) -> None:
        """Parse *data*, or keep it until there is room for more requests."""
        data, self.unparsed = self.unparsed + data, b""
        for start in range(0, len(data), PIECE):
            if self.transport.is_closing():
                return
            if len(self.pipeline) >= MOST_AHEAD:
                self.unparsed = data[start:]
                self.flow.pause_reading()
                return
            self.parse(data[start : start + PIECE])

    def parse(self, piece: bytes) -> None:
        """Parse *piece* now, whatever it holds."""
        super().data_received(piece)

    def on_response_complete(self) -> None:
        """Answer the next request; read on once there is room for more."""
        super().on_response_complete()
        if self.unparsed:
            self.data_received(b"")
        if self.pipeline:
            self.flow.pause_reading()
        else:
            self.flow.resume_reading()


class _Flow(FlowControl):
    """Reads nothing more while there is something to parse: each request resumes reading, for its own body."""

    def __init__(self, transport: asyncio.Transport, protocol: BoundedPipeline) -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        """Read on, unless what was read isn't parsed yet."""
        if not self._protocol.unparsed:
            super().resume_reading()
