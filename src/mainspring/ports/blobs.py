"""Large payloads and results, by the hash of their content."""

from typing import Protocol

from mainspring.domain.ids import BlobId


class Blobs(Protocol):
    """Content never changes under an id, so that writing twice is harmless."""

    async def put(self, data: bytes) -> BlobId:
        """Store *data* durably and return the id that its content has."""
        ...

    async def get(self, blob_id: BlobId) -> bytes:
        """The data, or NotFound."""
        ...
