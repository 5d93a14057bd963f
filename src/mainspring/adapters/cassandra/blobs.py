"""The Blobs port: content in pieces under its hash, with its age and its users beside it.

Whoever forgets blobs asks for no transaction: `BLOB_AGE` leads to those that are old, `BLOB_USE` to what may name them,
and a deletion spares the pieces that somebody has put again since.
"""

import hashlib
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import SHARDS, micros
from mainspring.adapters.cassandra.rows import Put, Row
from mainspring.adapters.cassandra.tables import BLOB_AGE, BLOB_CHUNK, BLOB_USE
from mainspring.adapters.cassandra.values import content, number
from mainspring.domain.ids import BlobId
from mainspring.errors import NotFound

CHUNK = 512 * 1024
"""Bytes of one piece: servers slow down over larger cells."""

_SHARD_DIGITS = 8


class CassandraBlobs:
    """Putting the same content again writes all of it again: it is then as young as it looks."""

    def __init__(self, context: Context) -> None:
        self._rows = context.rows
        self._clock = context.clock

    async def put(self, data: bytes) -> BlobId:
        """Store *data* and return the id that its content has."""
        blob_id = BlobId(hashlib.sha256(data).hexdigest())
        await self._rows.put([age_of(blob_id, micros(self._clock.now()))])
        pieces = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)] or [b""]
        for chunk, piece in enumerate(pieces):
            row: Row = {"id": blob_id, "chunk": chunk, "data": piece, "chunks": len(pieces)}
            await self._rows.put([Put(table=BLOB_CHUNK, row=row)])
        return blob_id

    async def get(self, blob_id: BlobId) -> bytes:
        """The data, or NotFound."""
        pieces: list[bytes] = []
        chunks = 1
        while len(pieces) < chunks:
            rows = await self._rows.get(BLOB_CHUNK, (blob_id,), [(len(pieces),)])
            if not rows:
                raise NotFound(f"there is no blob {blob_id}")
            pieces.append(content(rows[0], "data"))
            chunks = number(rows[0], "chunks")
        return b"".join(pieces)


def age_of(blob_id: str, at: int) -> Put:
    """The entry that leads to a blob which was put, or found in use, at that instant."""
    return Put(table=BLOB_AGE, row={"shard": shard_of_blob(blob_id), "at": at, "id": blob_id})


def use_of(blob_id: str, user: UUID, at: int) -> Put:
    """The entry of a run or a job that names a blob; to be written before what names it."""
    return Put(table=BLOB_USE, row={"blob": blob_id, "user": user, "at": at})


def shard_of_blob(blob_id: str) -> int:
    """The part of the ages in which a blob is."""
    return int(blob_id[:_SHARD_DIGITS], 16) % SHARDS
