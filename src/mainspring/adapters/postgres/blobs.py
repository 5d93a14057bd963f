"""The Blobs port on PostgreSQL: in the store itself."""

import hashlib

from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import BlobId
from mainspring.errors import NotFound

_SQL = load("blobs")


class PostgresBlobs:
    """Content by its hash; writing it again renews its age."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def put(self, data: bytes) -> BlobId:
        """Store *data* and return the id that its content has."""
        blob_id = BlobId(hashlib.sha256(data).hexdigest())
        await self._engine.execute(_SQL["put"], blob_id, data)
        return blob_id

    async def get(self, blob_id: BlobId) -> bytes:
        """The data, or NotFound."""
        data: bytes | None = await self._engine.value(_SQL["get"], blob_id)
        if data is None:
            raise NotFound(f"there is no blob {blob_id}")
        return data
