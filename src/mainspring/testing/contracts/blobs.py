"""The `Blobs` port: content under the name that its content gives it."""

import asyncio

import pytest

from mainspring.domain.ids import BlobId
from mainspring.errors import NotFound
from mainspring.ports.blobs import Blobs
from mainspring.testing.contracts.base import Store, StoreContract

CONTENTS = [b"", b"\x00", bytes(range(256)), b"\xff\xfe not text", b"x" * 1_000_000]


class BlobsContract(StoreContract):
    """All that is asked of `Blobs`; an adapter without a store gives `blobs`."""

    @pytest.fixture
    async def blobs(self, store: Store) -> Blobs:
        """Where nothing was put yet."""
        return store.blobs

    @pytest.mark.parametrize("data", CONTENTS, ids=lambda data: str(len(data)))
    async def test_what_was_put_is_got_byte_for_byte(self, blobs: Blobs, data: bytes) -> None:
        assert await blobs.get(await blobs.put(data)) == data

    async def test_the_same_content_has_the_same_id(self, blobs: Blobs) -> None:
        assert await blobs.put(b"same") == await blobs.put(b"same")

    async def test_other_content_has_another_id(self, blobs: Blobs) -> None:
        assert len({await blobs.put(data) for data in CONTENTS}) == len(CONTENTS)

    async def test_content_put_by_many_at_once_is_stored(self, blobs: Blobs) -> None:
        (blob_id,) = set(await asyncio.gather(*(blobs.put(b"same") for _ in range(8))))
        assert await blobs.get(blob_id) == b"same"

    async def test_what_was_never_put_is_not_found(self, blobs: Blobs) -> None:
        known = await blobs.put(b"known")
        with pytest.raises(NotFound):
            await blobs.get(BlobId(known[::-1]))
