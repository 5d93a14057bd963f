"""The compose files: valid by the specification, with the ports and names of the five descriptions, open to nobody."""

import re
import subprocess
import sys
from datetime import timedelta

import pytest

from mainspring.wiring.setting import settings_of
from mainspring.wiring.settings import Settings
from tests.deploy.files import DEPLOY, ROOT, STACKS, Service, documents, image_environment, services

VARIABLES = {variable for setting in settings_of(Settings) for variable in setting.variables}
NOT_OURS = {"PATH", "PYTHONUNBUFFERED"}

PUBLISHED = {
    "cassandra": {
        "worker1": ["8080"],
        "orders": ["8081"],
        "cassandra1": ["9042"],
        "cassandra2": [],
        "cassandra3": [],
        "postgres": ["5432"],
        "prometheus": ["9090"],
        "grafana": ["3000"],
    },
    "dashboard": {
        "api": ["3001", "3000"],
        "scheduler": [],
        "worker-1": [],
        "worker-2": [],
        "worker-3": [],
        "postgres": ["5432"],
        "redis": ["6379"],
    },
    "kafka-cassandra": {
        "api-service": ["8080"],
        "scheduler-service": [],
        "worker-service": [],
        "schema-init": [],
        "cassandra": ["9042"],
        "kafka": ["9092"],
        "prometheus": ["9090"],
        "grafana": ["3000"],
    },
    "lab": {
        "scheduler": ["8000"],
        "timekeeper": [],
        "worker-1": [],
        "worker-2": [],
        "worker-3": [],
        "postgres": ["5432"],
        "redis": ["6379"],
        "jaeger": ["16686"],
        "prometheus": ["9090"],
        "grafana": ["3001"],
    },
    "scylla-kafka-sqs": {
        "ingestion": ["8080", "8081"],
        "coordinator": [],
        "picker": ["8082"],
        "worker-service": ["8083-8092"],
        "schema-init": [],
        "scylla": ["9042"],
        "redis": ["6379"],
        "kafka": ["29092"],
        "sqs": ["9324", "9325"],
        "s3": ["4566"],
        "etcd": ["2379"],
        "prometheus": ["9090"],
        "grafana": ["3000"],
    },
}
"""Under which ports of the machine each service is found."""


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ours(stack: str) -> list[Service]:
    return [service for service in services(stack) if service.is_mainspring]


def test_every_file_follows_the_compose_specification() -> None:
    files = [*DEPLOY.glob("*/docker-compose.yml"), DEPLOY / "observability.yml", ROOT / "docker-compose.dev.yml"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_services_are_found_where_their_description_says(stack: str) -> None:
    found = {
        service.name: [re.sub(r"^[\d.]+:(.*):\d+$", r"\1", port) for port in service.published]
        for service in services(stack)
    }
    assert found == PUBLISHED[stack]


def test_nothing_is_published_beyond_this_machine(stack: str) -> None:
    assert all(port.startswith("127.0.0.1:") for service in services(stack) for port in service.published)


def test_what_is_extended_or_mounted_exists(stack: str) -> None:
    folder = DEPLOY / stack
    [project] = documents(folder / "docker-compose.yml")
    for service in services(stack):
        source = service.definition.get("extends")
        if source is not None:
            assert source["service"] in documents(folder / source["file"])[0]["services"]
        for volume in service.definition.get("volumes", ()):
            name = volume.partition(":")[0]
            assert (folder / name).exists() if name.startswith(".") else name in project["volumes"]
        assert set(service.definition.get("depends_on", ())) <= {each.name for each in services(stack)}


def test_every_variable_is_a_setting(stack: str) -> None:
    for service in ours(stack):
        # What OpenTelemetry reads itself has names of its own.
        assert {name for name in service.environment if not name.startswith("OTEL_")} <= VARIABLES, service.name
    assert image_environment().keys() - NOT_OURS <= VARIABLES


def test_a_process_has_time_to_drain_before_it_is_killed(stack: str) -> None:
    drain = Settings().drain
    for service in ours(stack):
        grace = timedelta(seconds=int(service.definition["stop_grace_period"].removesuffix("s")))
        assert grace > drain


def test_prometheus_finds_every_process_by_one_name(stack: str) -> None:
    [configuration] = documents(DEPLOY / "prometheus" / "prometheus.yml")
    [lookup] = configuration["scrape_configs"][0]["dns_sd_configs"]
    assert str(lookup["port"]) == image_environment()["MAINSPRING_PORT"]
    for service in ours(stack):
        assert service.definition["networks"]["default"]["aliases"] == lookup["names"]


def test_workers_that_can_be_scaled_have_nothing_of_their_own() -> None:
    for stack in ("scylla-kafka-sqs", "kafka-cassandra"):
        [worker] = [service for service in services(stack) if service.name == "worker-service"]
        assert "container_name" not in worker.definition
        assert "WORKER_ID" not in worker.environment


def test_a_third_worker_waits_for_the_profile_scale() -> None:
    for stack in ("lab", "dashboard"):
        assert [service.name for service in ours(stack) if service.scaled] == ["worker-3"]


def test_the_image_runs_as_nobody_in_particular_and_says_how_it_is() -> None:
    final = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    assert re.search(r"^USER mainspring$", final, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", final, re.MULTILINE)
    assert "--require-hashes" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_a_stack_with_redis_uses_it_and_starts_without() -> None:
    for stack, variable in (
        ("dashboard", "REDIS_URL"),
        ("dashboard", "MAINSPRING_WORK"),
        ("lab", "REDIS_URL"),
        ("lab", "MAINSPRING_WORK"),
        ("scylla-kafka-sqs", "MAINSPRING_SIGNALS"),
    ):
        for service in ours(stack):
            assert service.environment[variable] == "redis://redis:6379/0"
            assert "redis" not in service.definition["depends_on"]


def test_the_example_of_an_environment_names_settings_only() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    named = re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE)
    assert named
    assert set(named) <= VARIABLES
    [development] = documents(ROOT / "docker-compose.dev.yml")
    assert sorted(development["services"]) == ["postgres", "redis"]
