"""Cuts pages out of a walk. A page examines a bounded number of rows: it may be short, with `next` set."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

from mainspring.adapters.cassandra.looking import Look
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.values import identity
from mainspring.ports.views import Cursor, Page

MOST_EXAMINED = 500
"""Rows that a page looks at: each may lie in a partition of its own, and cost a read."""

_CHUNK = 20
_GROWTH = 4

T = TypeVar("T")
Judge = Callable[[Sequence[Row]], Awaitable[Sequence[T | None]]]
"""What is shown for each of some rows; None for one that doesn't match."""


async def cut(look: Look, judge: Judge[T], page: Cursor) -> Page[T]:
    """The first items of the walk behind where *page* begins."""
    found: list[T] = []
    last: UUID | None = page.before
    chunk, examined = max(_CHUNK, page.limit + 1), 0
    while True:
        looked = await look(last, min(chunk, MOST_EXAMINED))
        for row, item in zip(looked.rows, await judge(looked.rows), strict=True):
            if len(found) == page.limit:
                return Page(items=found, next=last)
            last = identity(row, "id")
            if item is not None:
                found.append(item)
        examined += len(looked.rows)
        if not looked.more:
            return Page(items=found, next=None)
        if examined >= MOST_EXAMINED:
            return Page(items=found, next=last)
        chunk = 1 if len(found) == page.limit else min(chunk * _GROWTH, MOST_EXAMINED - examined)
