"""The Random port by the operating system's generator, read in blocks: a system call per id would be felt."""

import os
from struct import Struct
from weakref import WeakSet

_BLOCK = Struct("=512Q")
_WORD_BITS = 64
_FLOAT_BITS = 53

_all: "WeakSet[SystemRandom]" = WeakSet()


class SystemRandom:
    """Unpredictable bits; safe from any thread, and never the same in a forked child as in its parent."""

    def __init__(self) -> None:
        self._words: list[int] = []
        _all.add(self)

    def bits(self, count: int) -> int:
        """*count* unpredictable bits."""
        if count <= _WORD_BITS:
            return self._word() >> (_WORD_BITS - count)
        size = (count + 7) // 8
        return int.from_bytes(os.urandom(size), "big") >> (size * 8 - count)

    def uniform(self) -> float:
        """A number in [0, 1), as fine as a float can be."""
        return self.bits(_FLOAT_BITS) / (1 << _FLOAT_BITS)

    def forget(self) -> None:
        """Give out nothing that was read before."""
        self._words = []

    def _word(self) -> int:
        while True:
            try:
                return self._words.pop()  # in one step: no two threads get the same
            except IndexError:
                self._words = list(_BLOCK.unpack(os.urandom(_BLOCK.size)))


def _forget_everywhere() -> None:
    for each in list(_all):
        each.forget()


# A child that is forked off has the parent's blocks; asking for the process id each time would be felt, too.
os.register_at_fork(after_in_child=_forget_everywhere)
