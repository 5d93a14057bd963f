"""Where code runs besides the event loop: threads, child processes, and a loop of its own for the heartbeat."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Aside(Protocol):
    """A coroutine that goes on beside the main loop, whatever blocks that one."""

    async def stop(self) -> None:
        """Ask it to end and wait until it has."""
        ...


class Tasks(Protocol):
    """Everything that a simulation must replace to run a worker in one thread."""

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Call *function* in a thread; Exhausted if there can't be one.

        Cancelling the wait doesn't end the thread: nothing can.
        """
        ...

    async def in_process(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call an importable *function* in a child process that is killed when the wait is cancelled.

        Exhausted if no child can be started.
        """
        ...

    def aside(self, main: Callable[[], Awaitable[None]]) -> Aside:
        """Run *main* on a thread and a loop of its own until it returns or is stopped."""
        ...
