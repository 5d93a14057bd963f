"""Handlers whose effects lie in the store's own database: their effect and their outcome can be one transaction."""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from mainspring.domain.ids import BlobId, Fence, RunId


class Transactions(Protocol):
    """Offered by stores that are databases which people also use for their own tables."""

    def settling(
        self, run: RunId, fence: Fence, *, result: bytes | None = None, blob: BlobId | None = None
    ) -> AbstractAsyncContextManager[Any]:
        """A connection of the store's driver in a transaction, which also records the run as succeeded as it commits.

        WrongState, and nothing is committed, if somebody else has taken the run since. A *result* with a *blob* is
        kept there.
        """
        ...
