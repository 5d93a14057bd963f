"""What a run printed, bounded: its first and last 32 KiB and the length of the whole."""

import threading

KEPT = 32 * 1024
"""Bytes kept at each end."""


class Transcript:
    """Text that grows without growing in memory. Written by any thread, read by the loop."""

    __slots__ = ("_guard", "_head", "_tail", "length")

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self.length = 0

    def append(self, data: bytes) -> None:
        """Add *data* at the end; what lies between the two kept parts is forgotten."""
        with self._guard:
            self.length += len(data)
            room = KEPT - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            if data:
                self._tail += data[-KEPT:]
                # Trimmed only at twice the size, so that many small lines don't each move 32 KiB.
                if len(self._tail) > 2 * KEPT:
                    del self._tail[:-KEPT]

    def snapshot(self) -> tuple[bytes, bytes, int]:
        """The first bytes, the last bytes that aren't among them, and the length of the whole."""
        with self._guard:
            return bytes(self._head), bytes(self._tail[-KEPT:]), self.length
