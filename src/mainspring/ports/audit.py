"""Who did what: append-only, chained by hash afterwards so that nothing serialises on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mainspring.domain.ids import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request of a person or program that changed something; a batch is one entry."""

    actor: str
    owner: str
    action: str
    subject: str
    """What it was done to: `job:<id>`, `run:<id>`, `key:<id>` …"""
    job_id: JobId | None = None
    before: bytes | None = None
    after: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An entry in its place; *digest* is None until it was chained."""

    number: int
    at: datetime
    entry: Entry
    digest: bytes | None


class Audit(Protocol):
    """Nothing is ever changed or removed; the chain shows if it was."""

    async def append(self, entries: Sequence[Entry]) -> None:
        """Record what was done, in order."""
        ...

    async def page(
        self, *, owner: str | None, job_id: JobId | None, before: int | None, limit: int
    ) -> Sequence[Recorded]:
        """Entries, newest first, numbered below *before*."""
        ...

    async def chain(self, limit: int) -> int:
        """Give the oldest unchained entries digests over their content and the digest before; return how many."""
        ...

    async def verify(self) -> int | None:
        """The number of the first entry whose digest doesn't fit, or None if the chain holds."""
        ...
