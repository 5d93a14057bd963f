"""The Blobs port on SQLite: in the store itself."""

import hashlib

from mainspring.adapters.sqlite.engine import Engine
from mainspring.domain.ids import BlobId
from mainspring.errors import NotFound

_PUT = "INSERT INTO blob (id, at, data) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET at = excluded.at"
_GET = "SELECT data FROM blob WHERE id = ?1"


class SqliteBlobs:
    """Content by its hash; writing it again renews its age."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def put(self, data: bytes) -> BlobId:
        """Store *data* and return the id that its content has."""
        blob_id = BlobId(hashlib.sha256(data).hexdigest())
        await self._engine.write(lambda transaction: transaction.execute(_PUT, blob_id, transaction.now, data))
        return blob_id

    async def get(self, blob_id: BlobId) -> bytes:
        """The data, or NotFound."""
        data: bytes | None = await self._engine.read(lambda transaction: transaction.value(_GET, blob_id))
        if data is None:
            raise NotFound(f"there is no blob {blob_id}")
        return data
