"""How entries of the audit log are chained: the same bytes on every store, so that a log may move and still holds."""

import hashlib
from collections.abc import Iterable

from mainspring.ports.audit import Recorded

BEFORE_ALL = b""
"""The digest before the first entry."""


def digest(previous: bytes, recorded: Recorded) -> bytes:
    """The digest of an entry in its place behind the one with *previous*."""
    entry = recorded.entry
    parts = (
        str(recorded.number),
        recorded.at.isoformat(),
        entry.actor,
        entry.owner,
        entry.action,
        entry.subject,
        str(entry.job_id),
    )
    state = hashlib.sha256(previous)
    for part in (*(part.encode() for part in parts), entry.before or b"", entry.after or b""):
        state.update(len(part).to_bytes(8, "big") + part)  # lengths keep fields from running into one another
    return state.digest()


def digests(previous: bytes, entries: Iterable[Recorded]) -> list[bytes]:
    """The digests of entries that follow one another behind the one with *previous*."""
    found = []
    for recorded in entries:
        previous = digest(previous, recorded)
        found.append(previous)
    return found
