"""What all groups of calls share."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from mainspring.client.asynchronous.connection import Connection
from mainspring.client.errors import UnexpectedAnswer

PAGE = 100


class Calls:
    """A group of calls over one connection."""

    _connection: Connection

    async def _pages(self, path: str, params: Mapping[str, str], limit: int | None) -> AsyncIterator[Any]:
        """The items of a list, page after page."""
        left = limit
        cursor: str | None = None
        while left is None or left > 0:
            size = PAGE if left is None else min(left, PAGE)
            page = {**params, "limit": str(size), **({} if cursor is None else {"cursor": cursor})}
            answer = await self._connection.get(path, page)
            items = self._items(answer)
            for each in items:
                yield each
            left = None if left is None else left - len(items)
            cursor = answer.get("next")
            if cursor is None:
                return

    def _items(self, answer: Any) -> list[Any]:
        if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
            raise UnexpectedAnswer("the answer should be a list of items")
        items: list[Any] = answer["items"]
        return items
