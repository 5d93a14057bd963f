"""Processes on one store that are killed, stopped in their tracks, and started again by the test as by a supervisor."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Self

from tests.scenarios.serve.processes import Place, Running, mainspring


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """How a process of the fleet is started; `{name}` stands for its name."""

    role: str
    arguments: Sequence[str]


class Fleet:
    """Named processes; which one has which name, and how often each was harmed."""

    def __init__(self, place: Place, members: Mapping[str, Member]) -> None:
        self._place = place
        self._members = dict(members)
        self._opened = AsyncExitStack()
        self.running: dict[str, Running] = {}
        self.harmed: Counter[str] = Counter()
        """By what was done: `kills` and `stops` of each role."""
        self.killed: dict[int, float] = {}
        """When each process was killed that was."""

    async def __aenter__(self) -> Self:
        for name in self._members:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    async def start(self, name: str) -> Running:
        """Start a process under this name, which may be that of one that has ended."""
        member = self._members[name]
        arguments = [argument.format(name=name) for argument in member.arguments]
        running = await self._opened.enter_async_context(mainspring(self._place, member.role, *arguments))
        self.running[name] = running
        return running

    async def join(self, name: str, member: Member) -> Running:
        """Start one more."""
        self._members[name] = member
        return await self.start(name)

    def from_now_on(self, name: str, *arguments: str) -> None:
        """Say how it is started the next time."""
        self._members[name] = Member(role=self._members[name].role, arguments=arguments)

    async def rename(self, name: str, new: str) -> None:
        """Start a process in the place of one that never returns under its name."""
        self._members[new] = self._members.pop(name)
        del self.running[name]
        await self.start(new)

    async def kill(self, name: str) -> None:
        """`kill -9`, by its number."""
        running = self.running[name]
        self.killed[running.process.pid] = time.monotonic()
        running.process.kill()
        await running.ended()
        self.harmed[f"{self._members[name].role} kills"] += 1

    async def stop(self, name: str, seconds: float) -> None:
        """Let it stand still for so long, as a machine that swaps or a virtual one that is moved does."""
        process = self.running[name].process
        os.kill(process.pid, signal.SIGSTOP)
        self.harmed[f"{self._members[name].role} stops"] += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            os.kill(process.pid, signal.SIGCONT)

    def names(self, role: str) -> list[str]:
        """The processes of a role, in the order of their names."""
        return sorted(name for name, member in self._members.items() if member.role == role)
