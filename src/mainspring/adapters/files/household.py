"""Subscribers of one process that know each other: between those of one event loop, no socket is needed."""

import asyncio
from collections.abc import Collection, Iterator, Sequence

from mainspring.adapters.inbox import Inbox


class Household:
    """Inboxes by the names of their sockets. Any thread may ask; each inbox is touched by its own loop only."""

    def __init__(self) -> None:
        self._members: dict[str, tuple[asyncio.AbstractEventLoop, Inbox]] = {}

    def join(self, name: str, inbox: Inbox) -> None:
        """Let *inbox* be reached by whoever runs in this loop."""
        self._members[name] = (asyncio.get_running_loop(), inbox)

    def leave(self, name: str) -> None:
        """Forget an inbox; one that never joined is none."""
        self._members.pop(name, None)

    def deliver(self, topics: Sequence[str]) -> Collection[str]:
        """Put *topics* into every inbox of this loop, and return the names of those that have them now."""
        told = dict(self._here())
        for inbox in told.values():
            inbox.deliver(topics)
        return told.keys()

    def foretell(self, topics: Sequence[str]) -> bool:
        """Put *topics* into every inbox of this loop; whether anybody waits for one of them at this moment."""
        heard = [inbox.deliver(topics) for _, inbox in self._here()]  # all of them, not up to the first
        return any(heard)

    def _here(self) -> Iterator[tuple[str, Inbox]]:
        loop = asyncio.get_running_loop()
        # A copy: another thread may join or leave meanwhile.
        for name, (home, inbox) in tuple(self._members.items()):
            if home is loop:
                yield name, inbox
