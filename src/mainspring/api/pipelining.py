"""A bound on requests that a client sends ahead, without waiting for the answers to those before.

The server parses all that it has read, keeps every request until its turn comes, and reads on after each answer. What
was 30 bytes takes some kilobytes then, and one connection that takes no answers takes as much memory as it likes.
"""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_AHEAD = 16
"""Requests that wait for the one before; while there are so many, the next bytes are left as they came."""
PIECE = 4096
"""Bytes that are parsed at once: requests that lie in them all wait together."""


class BoundedPipeline(HttpToolsProtocol):
    """HTTP/1.1 as the server speaks it, to clients that may be far ahead."""

    _unparsed = b""

    def data_received(self, data: bytes) -> None:
        """Parse *data*, or keep it until there is room for more requests."""
        if self._unparsed:
            data = self._unparsed + data
            self._unparsed = b""
        for start in range(0, len(data), PIECE):
            if self.transport.is_closing():
                return
            if len(self.pipeline) >= MOST_AHEAD:
                self._unparsed = data[start:]
                self.flow.pause_reading()
                return
            super().data_received(data[start : start + PIECE] if len(data) > PIECE else data)

    def on_response_complete(self) -> None:
        """Answer the next request; read on once there is room for more."""
        super().on_response_complete()
        if self._unparsed:
            self.data_received(b"")
        if self.pipeline:
            self.flow.pause_reading()
