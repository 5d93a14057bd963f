"""What code says about the schedule of one of its functions. Known to every process, so it loads no client."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mainspring.client.requests import JobOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the code says about one function's schedule."""

    key: str
    handler: str
    schedule: str | None
    """None if there is no schedule, or no longer."""
    payload: Any
    options: "JobOptions"
