"""Workers that somebody drains and resumes all the time, through the faults of whole schedules."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest

from mainspring.ports.sessions import Member, Role
from mainspring.ports.signals import session_topic
from mainspring.testing.simulation import schedule
from mainspring.testing.simulation.client import Client, GaveUp
from mainspring.testing.simulation.history import Answered
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.storage import Store
from mainspring.testing.simulation.world import World

PACE = 2.0
ROUNDS = 20
"""Looks after healing: a worker that lost its session in a drain comes back draining, and must be resumed once more."""


class Operator:
    """Drains workers and resumes them until the faults end; then lets all of them work."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < schedule.FAULTS_UNTIL:
            await asyncio.sleep(self._client.random.expovariate(1 / PACE))
            for member in await self._live():
                await self._ask(self._client.random.choice(("drain", "drain", "resume")), member)
        for _ in range(ROUNDS):
            await asyncio.sleep(1)
            for member in await self._live():
                await self._ask("resume", member)

    async def _live(self) -> Sequence[Member]:
        try:
            members: Sequence[Member] = await self._client.ask("sessions.live", Role.WORKER)
        except GaveUp:
            return ()
        return members

    async def _ask(self, verb: str, member: Member) -> None:
        try:
            await self._client.ask(f"sessions.{verb}", member.id)
        except GaveUp:
            return
        await self._client.notify([session_topic(member.id)])


class OperatedWorld(World):
    """One with an operator in it."""

    def _populate(self, random: Random) -> None:
        super()._populate(random)
        process = Process(self.universe, self.history, "operator", 1, self._stream("operator"))
        self.clients.append(process)
        process.start(Operator(Client(process, self._around)).run())


@pytest.mark.parametrize("schedules", [4, pytest.param(400, marks=[pytest.mark.chaos, pytest.mark.timeout(3600)])])
@pytest.mark.parametrize("store", Store)
def test_every_property_holds_while_workers_are_drained_and_resumed(
    monkeypatch: pytest.MonkeyPatch, store: Store, schedules: int
) -> None:
    monkeypatch.setattr(schedule, "World", OperatedWorld)
    seen = False
    for seed in range(1, schedules + 1):
        report = schedule.run(seed, store)
        assert not report.violations, f"under seed {seed}"
        seen = seen or any(map(_saw_one_drained, report.history.events))
    assert seen


def _saw_one_drained(event: object) -> bool:
    if not isinstance(event, Answered) or event.verb != "sessions.live":
        return False
    return any(member.drained for member in event.answer)
