"""The server as commands see it: the client, with its answers as they were written."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

from mainspring.api.document import write_json
from mainspring.cli.values import number_as_written
from mainspring.client import Client
from mainspring.client.requests import query


class Server(Client):
    """What `--json` prints and tables are made of comes from here; steering is the client's own."""

    store: str | None = None
    """The store behind it, if it is in this process."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._connection.number = number_as_written

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self.store or self.url

    async def fetch(self, path: str, **params: object) -> Any:
        """What is there, as parsed JSON."""
        return await self._connection.get(path, query(**params))

    async def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        key: str | None = None,
        version: int | None = None,
    ) -> Any:
        """Ask for something, by a *body* or its text.

        A *key* makes a repeat harmless, a *version* refuses to change another.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        text = body if body is None or isinstance(body, bytes) else write_json(body)
        return await self._connection.send(method, path, body=text, headers=headers)

    async def listed(self, path: str, limit: int | None, **params: object) -> AsyncIterator[Mapping[str, Any]]:
        """The items of a list, page after page, at most *limit*."""
        async for each in self._pages(path, query(**params), limit):
            yield each


def lock_path(name: str, verb: str = "") -> str:
    """Where a lock is; its name may hold anything."""
    return f"/locks/{quote(name, safe='')}" + (f"/{verb}" if verb else "")


def worker_path(name: str, verb: str) -> str:
    """Where something is wished of a worker."""
    return f"/workers/{quote(name, safe='')}/{verb}"
