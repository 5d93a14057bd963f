"""Connections that ask about the server's own types once per process.

The driver asks for every array type that it meets, on each connection anew, by a statement that takes longer than it
takes to connect. But the numbers of built-in types are the same on every server, and will be.
"""

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

_FIRST_OF_A_VERSION = 10_000
"""Types from this number on may be others on the next server."""
_NOT_ASKED = SimpleNamespace(name="known before")
"""In place of the statement that asks; a name says that it didn't push aside the one that is being prepared."""

_known: dict[frozenset[int], Sequence[asyncpg.Record]] = {}


class KnowingConnection(_Connection):
    """A connection of the driver's. If that comes to ask in another way, this changes nothing."""

    async def _introspect_types(self, typeoids: Collection[int], timeout: float | None) -> tuple[Any, Any]:  # noqa: ASYNC109 - the driver's
        asked = frozenset(typeoids)
        if asked in _known:
            return _known[asked], _NOT_ASKED
        types, statement = await super()._introspect_types(asked, timeout)  # type: ignore[misc]  # the stubs leave out what is private
        if max(asked) < _FIRST_OF_A_VERSION:
            _known[asked] = types
        return types, statement
