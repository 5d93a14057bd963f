"""What processes have used, seen from outside."""

from contextlib import suppress
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # psutil ships no types


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    cpu_seconds: float
    memory_bytes: int


def usage(pid: int) -> Usage:
    """CPU and memory of the process and all its descendants, with the CPU of those that ended before."""
    root = psutil.Process(pid)
    cpu_seconds, memory_bytes = 0.0, 0
    for process in [root, *root.children(recursive=True)]:
        # A descendant may end between being listed and being looked at.
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            cpu_seconds += times.user + times.system + times.children_user + times.children_system
            memory_bytes += process.memory_info().rss
    return Usage(cpu_seconds=cpu_seconds, memory_bytes=memory_bytes)
