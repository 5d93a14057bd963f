"""Who may use the API, as the settings say."""

from collections.abc import Sequence
from dataclasses import dataclass

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""Under which only this machine finds us."""


@dataclass(frozen=True, slots=True)
class GivenKey:
    """A key that the settings name. It may do everything that its owner can, and is shown to nobody."""

    owner: str
    key: str

    def __repr__(self) -> str:
        return f"GivenKey(owner={self.owner!r}, key=***)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the API is guarded."""

    open_without_keys: bool = True
    """Whether everybody may use it as long as no key exists: only where nobody but this machine can reach it, or
    where the network is trusted."""
    keys: Sequence[GivenKey] = ()
    """Keys beside those in the store."""
    rate_per_second: float = 0
    """Requests of one owner; 0 for any number."""
    quota: int = 0
    """Runs of one owner that may wait or run at once; 0 for any number."""


ON_LOOPBACK = Access()
"""For a server that only this machine can reach: open until the first key exists."""
