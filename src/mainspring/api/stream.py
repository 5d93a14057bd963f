"""One open event stream: a bounded buffer between the follower, which never waits, and a reader that may be slow."""

import asyncio
from collections import deque

from mainspring.api.telling import slow_event

MOST_HELD = 256
"""Events that wait for a reader before it is given up."""


class Stream:
    """Filled by the follower, emptied by the response."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._ended = False
        self._more = asyncio.Event()

    def put(self, text: bytes, events: int = 0) -> None:
        """Add text that holds so many events; if they are too many by now, the reader is dropped with a hint."""
        if self._ended:
            return
        if self._held + events > MOST_HELD:
            self._chunks.clear()
            self.end(slow_event())
            return
        self._held += events
        self._chunks.append(text)
        self._more.set()

    def end(self, last: bytes = b"") -> None:
        """Nothing comes after *last*; ending twice changes nothing."""
        if not self._ended:
            self._ended = True
            self._chunks.append(last)
            self._more.set()

    async def next(self) -> bytes | None:
        """All that waits, once there is something; None when nothing will come."""
        while not self._chunks:
            if self._ended:
                return None
            self._more.clear()
            await self._more.wait()
        text = b"".join(self._chunks)
        self._chunks.clear()
        self._held = 0
        return text
