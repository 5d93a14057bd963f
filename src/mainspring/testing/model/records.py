"""The small ports: blobs, output, audit and API keys."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from mainspring.domain.ids import BlobId, JobId, RunId
from mainspring.errors import NotFound
from mainspring.ports.audit import Entry, Recorded
from mainspring.ports.keys import ApiKey
from mainspring.ports.output import Printed
from mainspring.testing.model.tables import Tables


class MemoryBlobs:
    """The `Blobs` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def put(self, data: bytes) -> BlobId:
        """Putting again makes it young again."""
        identity = BlobId(hashlib.sha256(data).hexdigest())
        self._tables.blobs[identity] = (data, self._tables.now())
        return identity

    async def get(self, blob_id: BlobId) -> bytes:
        """By the hash of the content."""
        if blob_id not in self._tables.blobs:
            raise NotFound(f"there is no blob {blob_id}")
        return self._tables.blobs[blob_id][0]


class MemoryOutput:
    """The `Output` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def write(self, outputs: Sequence[Printed]) -> None:
        """Each fence has a place of its own."""
        for printed in outputs:
            self._tables.output.setdefault(printed.run_id, {})[printed.fence] = printed

    async def read(self, run_id: RunId) -> Printed | None:
        """The latest attempt's."""
        fences = self._tables.output.get(run_id)
        return fences[max(fences)] if fences else None


class MemoryAudit:
    """The `Audit` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def append(self, entries: Sequence[Entry]) -> None:
        """Numbers count from one."""
        self._tables.record(entries)

    async def page(
        self, *, owner: str | None, job_id: JobId | None, before: int | None, limit: int
    ) -> Sequence[Recorded]:
        """By number, greatest first."""
        found = [
            recorded
            for recorded in reversed(self._tables.audit)
            if owner in (None, recorded.entry.owner)
            and job_id in (None, recorded.entry.job_id)
            and (before is None or recorded.number < before)
        ]
        return found[:limit]

    async def chain(self, limit: int) -> int:
        """Oldest first."""
        unchained = [recorded for recorded in self._tables.audit if recorded.digest is None][:limit]
        for recorded in unchained:
            self._tables.audit[recorded.number - 1] = replace(recorded, digest=self._digest(recorded))
        return len(unchained)

    async def verify(self) -> int | None:
        """Compute every digest again."""
        chained = (recorded for recorded in self._tables.audit if recorded.digest is not None)
        return next((recorded.number for recorded in chained if recorded.digest != self._digest(recorded)), None)

    def _digest(self, recorded: Recorded) -> bytes:
        earlier = self._tables.audit[recorded.number - 2].digest if recorded.number > 1 else None
        content = repr((earlier, recorded.number, recorded.at, recorded.entry))
        return hashlib.sha256(content.encode()).digest()


class MemoryKeys:
    """The `Keys` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def create(self, key: ApiKey) -> None:
        """By id."""
        self._tables.api_keys[key.id] = key

    async def find(self, digest: bytes) -> ApiKey | None:
        """Whatever has become of it."""
        return next((key for key in self._tables.api_keys.values() if key.digest == digest), None)

    async def list(self, owner: str | None) -> Sequence[ApiKey]:
        """By creation."""
        found = [key for key in self._tables.api_keys.values() if owner in (None, key.owner)]
        return sorted(found, key=lambda key: (key.created_at, key.id), reverse=True)

    async def revoke(self, key_id: UUID) -> bool:
        """Once."""
        key = self._tables.api_keys.get(key_id)
        if key is None or key.revoked_at is not None:
            return False
        self._tables.api_keys[key_id] = replace(key, revoked_at=self._tables.now())
        return True

    async def used(self, key_ids: Sequence[UUID]) -> None:
        """Unknown ones are passed over."""
        for key_id in key_ids:
            if key_id in self._tables.api_keys:
                self._tables.api_keys[key_id] = replace(self._tables.api_keys[key_id], last_used_at=self._tables.now())
