"""Measures locks: holders that take turns at a few names, on any store."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

from mainspring.errors import StoreError
from mainspring.ports.locks import Leases, Lock

MILLISECOND = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What to do."""

    holders: int
    """How many take locks at the same time."""
    names: int
    """For how many locks they compete."""
    duration: timedelta
    ttl: timedelta
    prefix: str

    def name(self, number: int) -> str:
        """One of the locks."""
        return f"{self.prefix}-{number % self.names}"


@dataclass(slots=True)
class Measured:
    """What came of it. Times are in seconds."""

    acquired: list[float] = field(default_factory=list)
    """How long each acquisition took."""
    released: list[float] = field(default_factory=list)
    refused: int = 0
    """Attempts at a lock that somebody else held."""
    lost: int = 0
    """Locks whose time was up before they were given back."""
    errors: int = 0
    fences: dict[str, list[int]] = field(default_factory=dict)
    """Of each name, in the order in which they were held."""
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Acquisitions per second."""
        return len(self.acquired) / self.seconds if self.seconds else 0.0

    @property
    def sound(self) -> bool:
        """Whether the fences of every name were unique and growing."""
        return all(one < other for fences in self.fences.values() for one, other in pairwise(fences))


async def measure(locks: Leases, terms: Terms) -> Measured:
    """Let all holders go to work, and add up what they saw."""
    measured = Measured()
    begun_at = time.monotonic()
    until = begun_at + terms.duration.total_seconds()
    await asyncio.gather(*(_take_turns(locks, terms, number, measured, until) for number in range(terms.holders)))
    measured.seconds = time.monotonic() - begun_at
    return measured


async def _take_turns(locks: Leases, terms: Terms, number: int, measured: Measured, until: float) -> None:
    """One holder: takes one lock after the other, notes the fence while it holds it, and gives it back."""
    turn = number
    while time.monotonic() < until:
        try:
            await _turn(locks, terms.name(turn), f"{terms.prefix}/{number}", terms.ttl, measured)
        except StoreError:
            measured.errors += 1
        turn += 1


async def _turn(locks: Leases, name: str, holder: str, ttl: timedelta, measured: Measured) -> None:
    asked_at = time.perf_counter()
    got = await locks.acquire(name, holder, ttl)
    answered_at = time.perf_counter()
    if not isinstance(got, Lock):
        measured.refused += 1
        return
    measured.acquired.append(answered_at - asked_at)
    measured.fences.setdefault(name, []).append(got.fence)
    asked_at = time.perf_counter()
    if await locks.release(got):
        measured.released.append(time.perf_counter() - asked_at)
    else:
        measured.lost += 1


def percentile(times: Sequence[float], share: float) -> float:
    """The time in milliseconds within which that share of them lay; 0 of none."""
    if not times:
        return 0.0
    ordered = sorted(times)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] * MILLISECOND
