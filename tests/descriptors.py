"""Processes that have no file descriptor left: the kernel itself refuses the next one."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_descriptor_left(process: int = 0) -> Iterator[None]:
    """Within the block the process (this one, unless another is named) can't open anything."""
    before = resource.prlimit(process, resource.RLIMIT_NOFILE)
    used = {int(each.name) for each in Path(f"/proc/{process or os.getpid()}/fd").iterdir()}
    if process == 0:
        # What listed the folder is among them, and closed again.
        used = {number for number in used if _is_open(number)}
    lowest_free = next(number for number in range(len(used) + 1) if number not in used)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_NOFILE, before)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
