import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.cli import benching
from mainspring.cli.lock_bench import Terms, measure, percentile
from mainspring.domain.ids import Fence
from mainspring.errors import ConfigurationError, StoreUnavailable
from mainspring.ports.locks import Lock
from tests.cli.commands import Command


def test_a_checkout_measures_with_its_own_flags(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def run(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        started.append((arguments, options["cwd"]))
        return subprocess.CompletedProcess(arguments, 3)

    monkeypatch.setattr(subprocess, "run", run)
    command("bench", "--quick", "--measure", "throughput", code=3)
    root = Path(__file__).resolve().parents[2]
    assert started == [([sys.executable, "-m", "benchmarks", "--quick", "--measure", "throughput"], root)]


def test_elsewhere_it_says_where_the_benchmarks_are(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benching, "checkout", lambda: None)
    assert "part of the repository" in command("bench", code=2).err


def test_locks_are_measured_on_the_store_that_is_named(command: Command, tmp_path: Path) -> None:
    found = command(
        "bench", "locks", "--store", f"sqlite:///{tmp_path}/locks.db", "--threads", "4", "--duration", "0.2", "--json"
    ).json()
    assert found["acquisitions"] > 0
    assert found["acquire_p50_ms"] <= found["acquire_p99_ms"] <= found["acquire_max_ms"]
    assert (found["locks"], found["errors"], found["fences_grow"]) == (2, 0, True)


def test_the_variables_of_other_lock_benchmarks_are_understood(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    async def open_store(url: str, **_: Any) -> Any:
        opened.append(url)
        raise ConfigurationError("not today")

    monkeypatch.setattr("mainspring.wiring.stores.open_store", open_store)
    for name, value in {"CASS_CONTACT": "node", "CASS_PORT": "19042", "CASS_KEYSPACE": "shop"}.items():
        monkeypatch.setenv(name, value)
    command("bench", "locks", code=2)
    assert opened == ["cassandra://node:19042/shop"]


class Crowd:
    """Locks that are always free; their fences are as given."""

    def __init__(self, *fences: int) -> None:
        self._fences = iter(fences)

    async def acquire(self, name: str, holder: str, ttl: timedelta) -> Lock:
        """Take the next fence; end once there is none."""
        fence = next(self._fences, None)
        if fence is None:
            await asyncio.sleep(ttl.total_seconds())
            raise StoreUnavailable("no more")
        return Lock(name=name, holder=holder, fence=Fence(fence), expires_at=datetime.now(UTC) + ttl)

    async def renew(self, lock: Lock, ttl: timedelta) -> Lock:
        """Nobody does."""
        raise NotImplementedError

    async def release(self, lock: Lock) -> bool:
        """Whether it was an odd one."""
        return bool(lock.fence % 2)


@pytest.mark.parametrize(("fences", "sound"), [((1, 2, 5), True), ((1, 3, 3), False), ((2, 4, 3), False)])
async def test_fences_that_come_twice_or_shrink_are_noticed(fences: tuple[int, ...], sound: bool) -> None:
    terms = Terms(holders=1, names=1, duration=timedelta(milliseconds=50), ttl=timedelta(milliseconds=50), prefix="p")
    measured = await measure(Crowd(*fences), terms)
    assert (measured.fences, measured.sound) == ({"p-0": list(fences)}, sound)
    assert measured.lost == sum(fence % 2 == 0 for fence in fences)
    assert measured.errors > 0


def test_percentiles_are_times_that_were_measured() -> None:
    times = [number / 1000 for number in range(100, 0, -1)]
    assert [percentile(times, share) for share in (0.5, 0.99, 1.0)] == [50, 99, 100]
    assert percentile([], 0.5) == 0
