"""Who does what, without an election: everybody ranks the members by hash and knows the first.

Members may disagree for a while, because each sees births and deaths at its own time. Then two do the same work, and
the store refuses the second; or nobody does, for no longer than it takes to look again. Neither needs a leader that
is proven to be alone, which no lease can give anyway.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache


def owner(work: str, members: Iterable[str]) -> str | None:
    """The member to do *work*: when one leaves, only what it did moves elsewhere. None without members."""
    return max(members, key=lambda member: _rank(work, member), default=None)


@lru_cache(maxsize=10_000)
def _rank(work: str, member: str) -> bytes:
    """Asked for again and again: everybody looks several times a second whether any work has become his."""
    return hashlib.sha256(f"{work}\0{member}".encode()).digest()
