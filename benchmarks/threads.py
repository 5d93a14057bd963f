"""Concurrent callers for contenders with a blocking interface."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.contender import Job


def from_threads(add: Callable[[Job], None], jobs: Sequence[Job], callers: int) -> None:
    """Call *add* once per job; a single caller needs no thread."""
    if callers == 1:
        for job in jobs:
            add(job)
        return
    with ThreadPoolExecutor(callers) as pool:
        for _ in pool.map(add, jobs):
            pass
