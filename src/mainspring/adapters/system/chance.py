"""The Random port by the operating system's generator, read in blocks: a system call per id would be felt."""

import os
import threading
from weakref import WeakSet

_BLOCK = 4096
_FLOAT_BITS = 53

_all: "WeakSet[SystemRandom]" = WeakSet()


class SystemRandom:
    """Unpredictable bits; safe from any thread, and never the same in a forked child as in its parent."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._block = b""
        self._used = 0
        _all.add(self)

    def bits(self, count: int) -> int:
        """*count* unpredictable bits."""
        size = (count + 7) // 8
        return int.from_bytes(self._take(size), "big") >> (size * 8 - count)

    def uniform(self) -> float:
        """A number in [0, 1), as fine as a float can be."""
        return self.bits(_FLOAT_BITS) / (1 << _FLOAT_BITS)

    def forget(self) -> None:
        """Give out nothing that was read before; nobody else may be using it."""
        self._guard = threading.Lock()
        self._block, self._used = b"", 0

    def _take(self, size: int) -> bytes:
        with self._guard:
            start = self._used
            if start + size > len(self._block):
                self._block = os.urandom(max(_BLOCK, size))
                start = 0
            self._used = start + size
            return self._block[start : self._used]


def _forget_everywhere() -> None:
    for each in list(_all):
        each.forget()


# A child that is forked off has the parent's blocks; asking for the process id each time would be felt, too.
os.register_at_fork(after_in_child=_forget_everywhere)
