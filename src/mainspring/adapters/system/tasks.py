"""The Tasks port by real threads and processes."""

import json
import multiprocessing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from mainspring.adapters.system.asides import ThreadAside
from mainspring.adapters.system.children import Child, address_of
from mainspring.adapters.system.threads import DaemonThreads
from mainspring.errors import Exhausted

T = TypeVar("T")


class SystemTasks:
    """At most *limit* threads and as many children at a time; *preload* is imported once for all children."""

    def __init__(self, limit: int, *, preload: Sequence[str] = ()) -> None:
        self._threads = DaemonThreads(limit, name="handler")
        self._watchers = DaemonThreads(limit, name="child-watcher")
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(preload))

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Call *function* in a thread; cancelling the wait leaves the thread to its work."""
        return await self._threads.call(function)

    async def in_process(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call *function* in a child that is killed, with all that it started, when the wait is cancelled."""
        child = Child(self._context, address_of(function), json.dumps(dict(arguments)))
        try:
            return await self._watchers.call(child.call)
        except Exhausted:
            child.close()
            raise
        finally:
            child.kill()

    def aside(self, main: Callable[[], Awaitable[None]]) -> ThreadAside:
        """Run *main* on a thread and a loop of its own until it returns or is stopped."""
        return ThreadAside(main)

    def close(self) -> None:
        """Let idle threads end; a thread that hangs ends with the process."""
        self._threads.close()
        self._watchers.close()
