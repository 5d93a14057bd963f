"""What a run printed and how far it has come, kept per fence: a stale writer's lines are never shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mainspring.domain.ids import Fence, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The output of one attempt: its first and last bytes and the length of the whole."""

    run_id: RunId
    fence: Fence
    head: bytes = b""
    tail: bytes = b""
    length: int = 0
    progress: float | None = None
    """From 0 to 1, as the handler reported it."""
    message: str | None = None


class Output(Protocol):
    """Output is for people: losing the last second of it with a machine is accepted."""

    async def write(self, outputs: Sequence[Printed]) -> None:
        """Replace what is kept for each (run, fence)."""
        ...

    async def read(self, run_id: RunId) -> Printed | None:
        """The output of the highest fence that wrote any."""
        ...
