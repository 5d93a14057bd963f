"""The stacks without containers: the same commands in the same environment, but for where they listen and store."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.deploy.collecting import Collector, collecting
from tests.deploy.files import ROOT, STACKS, Service, image_environment, services
from tests.documents.starting import Started, started

ONCE = ["migrate"]
API = (["api"], ["serve"])
STORE = {"MAINSPRING_STORE", "DATABASE_URL"}
REDIS = {"MAINSPRING_SIGNALS", "MAINSPRING_WORK", "REDIS_URL"}
COLLECTOR = "OTEL_EXPORTER_OTLP_ENDPOINT"
OF_THE_CONTAINER = {"PATH", "PYTHONUNBUFFERED"}
PROGRAM = "from mainspring.cli.main import run; run()"
PATIENCE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """This machine, in place of a stack's network."""

    folder: Path
    store: str
    redis: str
    collector: Collector

    def environment(self, service: Service) -> dict[str, str]:
        """What the service's container would have, with addresses that this machine has."""
        image = {name: value for name, value in image_environment().items() if name not in OF_THE_CONTAINER}
        servers = {**dict.fromkeys(STORE, self.store), **dict.fromkeys(REDIS, self.redis)}
        elsewhere = {**servers, COLLECTOR: self.collector.url}
        own = {name: elsewhere.get(name, value) for name, value in service.environment.items()}
        here = {"MAINSPRING_HOST": "127.0.0.1", "MAINSPRING_PORT": "0", "MAINSPRING_DATA": str(self.folder / "data")}
        return {**image, **own, **here}

    @contextmanager
    def running(self, stack: Sequence[Service]) -> Iterator[dict[str, Started]]:
        """The processes by name; those that are to end have ended well before the others begin."""
        for service in (each for each in stack if each.command == ONCE):
            command = [sys.executable, "-c", PROGRAM, *service.command]
            variables = {**os.environ, **self.environment(service)}
            subprocess.run(command, cwd=self.folder, env=variables, timeout=PATIENCE, check=True)
        with ExitStack() as processes:
            yield {
                each.name: processes.enter_context(started(self.folder, *each.command, **self.environment(each)))
                for each in stack
                if each.command != ONCE
            }


# The processes of this one are among those of another.
LESS_OFTEN = {"kafka-cassandra": [pytest.mark.chaos]}


@pytest.fixture(params=[pytest.param(name, marks=LESS_OFTEN.get(name, [])) for name in STACKS])
def stack(request: pytest.FixtureRequest) -> list[Service]:
    """Mainspring's own processes of one stack, as they are without a profile."""
    return [service for service in services(request.param) if service.is_mainspring and not service.scaled]


@pytest.fixture
def place(stack: list[Service], request: pytest.FixtureRequest, tmp_path: Path, redis_url: str) -> Iterator[Place]:
    [url] = {value for service in stack for name, value in service.environment.items() if name in STORE}
    # What is tried here is the same on every store, and these two are there at once.
    embedded = f"sqlite:///{tmp_path / 'data' / 'mainspring.db'}"
    store = request.getfixturevalue("postgres_url") if urlsplit(url).scheme == "postgresql" else embedded
    with collecting() as collector:
        yield Place(folder=tmp_path, store=store, redis=redis_url, collector=collector)


def test_a_stack_passes_the_smoke_test_and_all_of_it_is_ready(stack: list[Service], place: Place) -> None:
    see_through(stack, place)


@pytest.mark.chaos
@pytest.mark.parametrize("stack", ["cassandra", "scylla-kafka-sqs"], indirect=True)
def test_a_stack_passes_on_a_store_of_its_own_kind(stack: list[Service], place: Place, cassandra_url: str) -> None:
    see_through(stack, replace(place, store=cassandra_url))


def see_through(stack: Sequence[Service], place: Place) -> None:
    """A job, in all of the stack's processes, to their end."""
    with place.running(stack) as processes:
        tried = smoke_test(processes[the_api(stack)])
        assert tried.returncode == 0, tried.stdout + tried.stderr
        assert [line[:5] for line in tried.stdout.splitlines()] == [f"ok {step}." for step in range(1, 6)]
        for process in processes.values():
            assert "mainspring_info" in httpx.get(f"{ready(process)}/metrics").text
        for process in processes.values():
            process.process.terminate()
        assert [process.ended() for process in processes.values()] == [0] * len(processes)
    assert bool(place.collector.services) == any(COLLECTOR in service.environment for service in stack)


@pytest.mark.parametrize("stack", ["lab"], indirect=True)
def test_the_smoke_test_fails_where_nobody_works(stack: list[Service], place: Place) -> None:
    with place.running([service for service in stack if service.name == the_api(stack)]) as processes:
        tried = smoke_test(processes[the_api(stack)], seconds=1)
    assert tried.returncode == 1
    assert "FAILED 4." in tried.stderr


def the_api(stack: Sequence[Service]) -> str:
    [name] = [service.name for service in stack if service.command in API]
    return name


def smoke_test(process: Started, seconds: int = PATIENCE) -> "subprocess.CompletedProcess[str]":
    variables = {**os.environ, "MAINSPRING_URL": ready(process), "SMOKE_SECONDS": str(seconds)}
    script = ROOT / "scripts" / "smoke_test.sh"
    return subprocess.run([script], env=variables, capture_output=True, text=True, timeout=300, check=False)


def ready(process: Started) -> str:
    """Where the process answers, once it says that all of it is up."""
    [port] = process.ports(1)
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + PATIENCE
    while (answer := httpx.get(f"{url}/readyz", timeout=PATIENCE)).text != "READY":
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.05)
    return url
