"""A payload that kills whoever executes it, beside innocent jobs of others: it ends for good, and they complete."""

import asyncio
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.attack.conftest import Did
from tests.attack.fleet import Fleet, Member
from tests.attack.sink import Sink, receiving
from tests.attack.target import Target, attacked
from tests.scenarios.conftest import STORES
from tests.scenarios.serve.processes import Place, embedded

pytestmark = pytest.mark.attack

OWNERS = ("ann", "bob", "carol", "dave", "eve")
EACH = 2
"""Innocent jobs of each owner."""
LASTS = 1.5
"""Seconds of innocent work: long enough that it is under way whenever the poison strikes."""
STRIKES_AFTER = 0.5
TTL = 2
MOST_STARTS = 25
"""A supervisor's patience: by then the poison must have come to rest."""
PATIENCE = 240


@pytest.fixture(params=["sqlite", "postgresql", "cassandra"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    shutil.copy(Path(__file__).with_name("deliveries.py"), tmp_path / "deliveries.py")
    kind = request.param
    return Place(tmp_path, request.getfixturevalue(STORES[kind])) if kind in STORES else embedded(tmp_path)


def worker() -> Member:
    lives = ("--worker-name", "{name}", "--worker-ttl-seconds", str(TTL))
    return Member(role="worker", arguments=("--app", "deliveries", "--concurrency", "16", *lives))


@asynccontextmanager
async def supervised(fleet: Fleet, names: tuple[str, ...]) -> AsyncIterator[None]:
    """Workers under these names; whoever dies is started again."""

    async def supervise(name: str) -> None:
        await fleet.join(name, worker())
        for _ in range(MOST_STARTS):
            await fleet.running[name].process.wait()
            await fleet.start(name)

    tasks = [asyncio.create_task(supervise(name)) for name in names]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def submitted(target: Target, sink: Sink) -> tuple[str, list[str]]:
    """The poison, and the innocent beside it."""
    innocent = {"handler": "sink.wait", "payload": {"sink": sink.url, "seconds": LASTS}, "max_retries": 0}
    jobs = [{**innocent, "owner": owner} for owner in OWNERS for _ in range(EACH)]
    beside = [item["id"] for item in (await target.post("/api/v1/jobs/batch", {"jobs": jobs}))["items"]]
    payload = {"sink": sink.url, "seconds": STRIKES_AFTER}
    poison = await target.submitted(handler="sink.poison", payload=payload, owner="mallory", max_retries=0)
    return poison, beside


@pytest.mark.parametrize("names", [("red",), ("red", "green", "blue")], ids=["one worker", "three workers"])
async def test_a_payload_that_kills_its_worker_takes_nobody_along(
    place: Place, names: tuple[str, ...], did: Did
) -> None:
    async with (
        receiving(random.Random(7)) as sink,
        attacked(place, role="api") as target,
        Fleet(place, {"scheduler": Member(role="scheduler", arguments=())}) as fleet,
        supervised(fleet, names),
    ):
        await target.until_known("sink.poison")
        poison, beside = await submitted(target, sink)
        guilty = await target.ended(poison, PATIENCE)
        innocent = [await target.ended(each, PATIENCE) for each in beside]
        deaths = len([each for each in sink.deliveries if each.execution == poison])
        did(innocent=len(beside), deaths=deaths, deliveries=len(sink.deliveries))
    assert (guilty["status"], guilty["reason"]) == ("FAILED", "lost too often")
    assert [(each["status"], each["reason"]) for each in innocent if each["status"] != "COMPLETED"] == []
    assert deaths <= MOST_STARTS
