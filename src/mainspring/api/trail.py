"""What people did, written down before they are answered; entries of concurrent requests share a write."""

from collections.abc import Sequence
from typing import Any

from mainspring.api.caller import Caller
from mainspring.api.coalescer import Coalescer
from mainspring.api.document import write_json
from mainspring.domain.ids import JobId
from mainspring.ports.audit import Audit, Entry


class Trail:
    """Appends one entry for each request that changed something."""

    def __init__(self, audit: Audit) -> None:
        async def append(entries: Sequence[Entry]) -> Sequence[None]:
            await audit.append(entries)
            return [None] * len(entries)

        self._entries = Coalescer(append)

    async def note(
        self,
        caller: Caller,
        action: str,
        subject: str,
        *,
        owner: str,
        job_id: JobId | None = None,
        before: Any = None,
        after: Any = None,
    ) -> None:
        """Record what *caller* did to *subject*, which belongs to *owner*; bytes are JSON texts already."""
        await self._entries.put(
            Entry(
                actor=caller.actor,
                owner=owner,
                action=action,
                subject=subject,
                job_id=job_id,
                before=_text(before),
                after=_text(after),
            )
        )


def _text(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else write_json(value)
