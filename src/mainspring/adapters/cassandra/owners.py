"""Who has ever stored anything, and in which months: where walks over an owner's things begin and end."""

from collections.abc import Mapping, Sequence

from mainspring.adapters.cassandra.layout import EVERYTHING
from mainspring.adapters.cassandra.rows import ALL, Rows, Span
from mainspring.adapters.cassandra.tables import OWNER
from mainspring.adapters.cassandra.values import number, text

_CHUNK = 1_000


async def months_of(rows: Rows, owner: str) -> Sequence[int]:
    """The months of an owner, newest first."""
    found = await rows.slice(OWNER, (EVERYTHING,), Span(first=(owner,), last=(owner,)), limit=_CHUNK, backwards=True)
    return [number(row, "month") for row in found]


async def all_owners(rows: Rows) -> Mapping[str, Sequence[int]]:
    """Every owner with its months, newest first. Costs a read per thousand months of all of them together."""
    found: dict[str, list[int]] = {}
    span = ALL
    while True:
        chunk = await rows.slice(OWNER, (EVERYTHING,), span, limit=_CHUNK)
        for row in chunk:
            found.setdefault(text(row, "owner"), []).insert(0, number(row, "month"))
        if len(chunk) < _CHUNK:
            return found
        span = Span(after=(text(chunk[-1], "owner"), number(chunk[-1], "month")))
