"""Kills in a loop, of everything there is, while jobs deliver to a sink: what was promised is counted there."""

import asyncio
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.attack.clients import Clients
from tests.attack.conftest import Did
from tests.attack.fleet import Fleet, Member
from tests.attack.sink import Sink, receiving
from tests.attack.target import JOBS, Target
from tests.scenarios.conftest import STORES
from tests.scenarios.serve.processes import Place, embedded

pytestmark = pytest.mark.attack

HARMS = 25
SEED = 21
JOBS_IN_ALL = {"sqlite": 4_000, "postgresql": 4_000, "cassandra": 600}
CLIENTS = 4
BATCHES = (1, 1, 7, 50)
"""How many jobs each client submits at a time."""
RECURRING = 3
CONCURRENCY = 8
TTL = 4
"""Seconds of silence after which a session ends."""
STANDSTILL = TTL + 2
PACE = 1.5
"""Seconds between two harms, at most."""
HELD_UP = 1.2
"""Seconds that a store is locked by somebody else: less than a session lasts."""
NOTED_WITHIN = 0.5
"""Seconds from an effect until it lies in the journal, at most."""
PATIENCE = 240
WORKERS = ("red", "green", "blue")
SCHEDULERS = ("one", "other")


@pytest.fixture(params=["sqlite", "postgresql", "cassandra"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Place:
    shutil.copy(Path(__file__).with_name("deliveries.py"), tmp_path / "deliveries.py")
    return Place(tmp_path, request.getfixturevalue(STORES[kind])) if kind in STORES else embedded(tmp_path)


def members() -> dict[str, Member]:
    lives = ("--worker-name", "{name}", "--worker-ttl-seconds", str(TTL), "--concurrency", str(CONCURRENCY))
    leads = ("--scheduler-name", "{name}", "--scheduler-ttl-seconds", str(TTL))
    return {
        **{name: Member(role="worker", arguments=("--app", "deliveries", *lives)) for name in WORKERS},
        **{name: Member(role="scheduler", arguments=leads) for name in SCHEDULERS},
    }


@contextmanager
def held_up(place: Place) -> Iterator[None]:
    """Nothing can be settled meanwhile, because somebody else has locked what that needs; not on Cassandra."""
    if place.store.startswith("sqlite"):
        with closing(sqlite3.connect(place.store.removeprefix("sqlite:///"), isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            yield
    elif place.store.startswith("postgresql"):
        with psycopg.connect(place.store) as connection:
            connection.execute("LOCK TABLE mainspring.history IN EXCLUSIVE MODE")
            yield
            connection.rollback()
    else:
        yield


class Harm:
    """One misfortune after the other, chosen by a seed."""

    def __init__(self, fleet: Fleet, place: Place, chance: random.Random) -> None:
        self._fleet = fleet
        self._place = place
        self._chance = chance
        self._newcomers = 0

    async def run(self) -> None:
        harms = (self._returns, self._never_returns, self._dies_unsettled, self._stops, self._others)
        for number in range(HARMS):
            await asyncio.sleep(self._chance.uniform(0, PACE))
            await harms[number % len(harms)]()

    async def _returns(self) -> None:
        name = self._chance.choice(self._fleet.names("worker"))
        await self._fleet.kill(name)
        await self._fleet.start(name)

    async def _never_returns(self) -> None:
        name = self._chance.choice(self._fleet.names("worker"))
        await self._fleet.kill(name)
        self._newcomers += 1
        await self._fleet.rename(name, f"newcomer-{self._newcomers}")

    async def _dies_unsettled(self) -> None:
        """What it has finished is in its journal alone, because the store was held up."""
        name = self._chance.choice(self._fleet.names("worker"))
        with held_up(self._place):
            await asyncio.sleep(HELD_UP)
            await self._fleet.kill(name)
        self._newcomers += 1
        await self._fleet.rename(name, f"newcomer-{self._newcomers}")

    async def _stops(self) -> None:
        names = (*self._fleet.names("worker"), *self._fleet.names("scheduler"))
        await self._fleet.stop(self._chance.choice(names), STANDSTILL)

    async def _others(self) -> None:
        name = self._chance.choice((*self._fleet.names("scheduler"), "api"))
        await self._fleet.kill(name)
        await self._fleet.start(name)


async def test_nothing_is_lost_or_overwritten_and_little_repeated_whoever_is_killed(
    place: Place, kind: str, did: Did
) -> None:
    chance = random.Random(SEED)
    async with receiving(chance) as sink, Fleet(place, members()) as fleet:
        port = await first_api(fleet)
        clients = Clients(port, {"sink": sink.url}, chance)
        recurring = await submitted_schedules(port, fleet, sink)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as together:
            together.create_task(Harm(fleet, place, chance).run())
            for number, batch in enumerate(BATCHES):
                together.create_task(clients.submit(f"client-{number}", JOBS_IN_ALL[kind] // CLIENTS, batch))
        async with Target(fleet.running["api"], f"http://127.0.0.1:{port}") as target:
            executions = await all_ended(target, clients)
            fired = await fired_by(target, recurring)
            stored = await target.everything(f"{JOBS}?handler=sink.deliver")
    harmed = fleet.harmed
    done = sink.repeated_although_done(fleet.killed, NOTED_WITHIN)
    did(
        jobs=len(clients.acknowledged),
        requests=clients.requests,
        aborted_requests=clients.aborted,
        **{harm.replace(" ", "_"): count for harm, count in sorted(harmed.items())},
        deliveries=len(sink.deliveries),
        repeated=sink.repeated,
        repeated_although_done=len(done),
        refused_by_the_sink=len(sink.refused),
        fire_times=sum(map(len, fired.values())),
    )
    assert not clients.contradictions, "a key always names the same job"
    assert len(stored) == len(clients.acknowledged) + RECURRING, "nothing was added twice"
    assert_nothing_lost(executions, sink)
    assert_nothing_stale(executions, sink)
    assert_every_fire_time_once(fired)
    workers_harmed = harmed["worker kills"] + harmed["worker stops"]
    assert not done, "what the dead had noted as finished is never repeated: others on the machine read their journals"
    assert sink.repeated <= workers_harmed * CONCURRENCY, "only what was under way when its worker was harmed"


async def first_api(fleet: Fleet) -> int:
    """The port of an API that is started again there after each kill."""
    running = await fleet.join("api", Member(role="api", arguments=("--port", "0")))
    port = int((await running.url()).rpartition(":")[2])
    fleet.from_now_on("api", "--port", str(port))
    for name in WORKERS:
        await fleet.running[name].line("session.opened", logger="mainspring.worker")  # its handlers are known by now
    return port


async def submitted_schedules(port: int, fleet: Fleet, sink: Sink) -> list[str]:
    job = {"handler": "sink.deliver", "schedule": "@every 1s", "payload": {"sink": sink.url}}
    async with Target(fleet.running["api"], f"http://127.0.0.1:{port}") as target:
        return [str((await target.post(JOBS, job))["id"]) for _ in range(RECURRING)]


async def all_ended(target: Target, clients: Clients) -> list[Mapping[str, Any]]:
    """What became of everything that was acknowledged."""
    async with asyncio.timeout(PATIENCE):
        return [await target.ended(identity, PATIENCE) for identity in clients.acknowledged.values()]


async def fired_by(target: Target, recurring: list[str]) -> dict[str, list[Mapping[str, Any]]]:
    """The ended executions of each recurring job, which fires no more."""
    for job in recurring:
        await target.post(f"{JOBS}/{job}/pause")
    found = {}
    for job in recurring:
        executions = await target.everything(f"{JOBS}/{job}/executions")
        found[job] = [await target.ended(each["id"], PATIENCE) for each in executions]
    return found


def assert_nothing_lost(executions: list[Mapping[str, Any]], sink: Sink) -> None:
    assert Counter(each["status"] for each in executions) == {"COMPLETED": len(executions)}
    assert {each["id"] for each in executions} <= set(sink.tokens)


def assert_nothing_stale(executions: list[Mapping[str, Any]], sink: Sink) -> None:
    """The outcome that counts is that of the newest hand-over, and nobody's with an older token was taken after it."""
    tokens = sink.tokens
    for each in executions:
        assert each["result"] == each["token"], each
        assert each["token"] >= max(tokens[each["id"]]), each
        assert tokens[each["id"]] == sorted(tokens[each["id"]]), each


def assert_every_fire_time_once(fired: Mapping[str, list[Mapping[str, Any]]]) -> None:
    for executions in fired.values():
        assert {each["status"] for each in executions} == {"COMPLETED"}
        fire_times = sorted(datetime.fromisoformat(each["fire_time"]) for each in executions)
        gaps = Counter(later - earlier for earlier, later in pairwise(fire_times))
        assert set(gaps) == {timedelta(seconds=1)}, gaps
