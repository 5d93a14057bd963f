"""Who does what, without an election: everybody ranks the members by hash and knows the first.

Members may disagree for a while, because each sees births and deaths at its own time. Then two do the same work, and
the store refuses the second; or nobody does, for no longer than it takes to look again. Neither needs a leader that
is proven to be alone, which no lease can give anyway.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache


def owner(work: str, members: Iterable[str]) -> str | None:
    """The member to do *work*: when one leaves, only what it did moves elsewhere. None without members."""
    return max(members, key=lambda member: _rank(work, member), default=None)


def shares(work: Collection[str], members: Collection[str]) -> Mapping[str, str]:
    """The member to do each of *work*, where all have the same number to do, or one more.

    For few pieces that are equally heavy: of sixteen, two owners by rank alone may have eleven and five. When a member
    leaves or comes, hardly more moves than has to.
    """
    if not members:
        return {}
    least, spare = divmod(len(work), len(members))
    has: Counter[str] = Counter()
    owners: dict[str, str] = {}
    ranked = sorted(((_rank(piece, member), piece, member) for piece in work for member in members), reverse=True)
    for _, piece, member in ranked:
        takes_spare = has[member] == least
        if piece in owners or has[member] > least or (takes_spare and not spare):
            continue
        owners[piece] = member
        has[member] += 1
        spare -= takes_spare
    return owners


@lru_cache(maxsize=10_000)
def _rank(work: str, member: str) -> bytes:
    """Asked for again and again: everybody looks several times a second whether any work has become his."""
    return hashlib.sha256(f"{work}\0{member}".encode()).digest()
