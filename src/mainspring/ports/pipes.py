"""What stands beside the store, as those who look after it see it: nothing depends on it, but somebody should know."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipe:
    """One use of a server beside the store."""

    purpose: str
    """What it is for, by the name of the setting that holds its URL."""
    url: str
    """Without its password."""
    connected: bool
    since: datetime
    """Since when it has been connected, or since when not."""
    error: str | None = None
    """Why it isn't connected, in one sentence."""


class Probe(Protocol):
    """Asks one server whether it is there."""

    @property
    def url(self) -> str:
        """Where the server is, without its password."""
        ...

    async def ask(self) -> str | None:
        """Nothing if it answers, within seconds; otherwise why it doesn't, in one sentence."""
        ...
