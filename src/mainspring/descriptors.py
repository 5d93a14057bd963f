"""How many descriptors this process may have open: raised once at its start, and given back to what it starts.

A program inherits the limits of the one that starts it, and some behave badly under a high one: they close every
descriptor that might be open, or call `select`, which knows 1,024.
"""

import os
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

MOST = 1_048_576
"""Where the system names no limit at all."""
_MARGIN = 64
"""Descriptors that other threads may open while a program is started."""

_original: int | None = None


def raise_limit() -> None:
    """Raise the soft limit to the hard one; once is enough, and a system that refuses keeps its limit."""
    global _original  # noqa: PLW0603 - the limit is the process's own, and so is what it was
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        _original = soft


def limit() -> int:
    """How many may be open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else soft


def original() -> int | None:
    """The soft limit before it was raised; None if it wasn't."""
    return _original


def restore(soft: int | None) -> None:
    """Give this process the soft limit *soft*; None leaves it as it is."""
    if soft is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def start(program: Callable[[], "subprocess.Popen[bytes]"]) -> "subprocess.Popen[bytes]":
    """What *program* starts has the soft limit that this process had at its own start.

    It inherits the limit, which is lowered meanwhile: but only while there are free descriptors below it, so that
    neither the start nor another thread fails for want of one. Else it gets its limit right after its start.
    """
    if _original is None:
        return program()
    if not _free_below(_original - _MARGIN):
        process = program()
        with suppress(OSError, AttributeError):  # it has ended, or this isn't Linux
            resource.prlimit(
                process.pid, resource.RLIMIT_NOFILE, (_original, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            )
        return process
    raised = limit()
    restore(_original)
    try:
        return program()
    finally:
        restore(raised)


def _free_below(number: int) -> bool:
    """Whether the next descriptor is below *number*: a process gets the lowest that is free."""
    try:
        lowest = os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return False
    os.close(lowest)
    return lowest < number
