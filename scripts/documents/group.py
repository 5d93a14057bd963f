"""What a document's numbers are listed by, and what those wait for that nothing shows yet."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers that belong together. With nothing but these, tests must show each of them by its number."""

    numbers: str
    about: str
    where: tuple[str, ...] = ()
    """Files that show it, or tests as `path::name`, beside those that name the numbers themselves."""
    later: str = ""
    """What it waits for."""
    moot: str = ""
    """Why there is nothing to show."""


@dataclass(frozen=True, slots=True)
class Document:
    """One of the five, with the highest of its numbers."""

    name: str
    title: str
    last: int
    groups: tuple[Group, ...]


KAFKA, SQS, ETCD, S3 = (f"the {name} adapter" for name in ("Kafka", "SQS", "etcd", "S3"))

KILL = ("tests/scenarios/kill/test_kill_nine.py",)
CLUSTER = ("tests/scenarios/kill/test_cluster.py",)
NODES = ("tests/chaos/test_cassandra_cluster.py",)
SHARES = (
    "tests/scenarios/kill/test_shards.py",
    "tests/unit/adapters/cassandra/test_timetable_shards.py",
    "tests/unit/adapters/cassandra/test_claiming.py",
)
CASSANDRA = ("tests/conformance/test_cassandra.py", "docs/reference/cassandra.cql")
LOCKS = (
    "tests/conformance/test_sqlite.py",
    "tests/conformance/test_postgres.py",
    "tests/conformance/test_cassandra.py",
)
COMMANDS = ("tests/scenarios/serve/test_commands.py",)
ROLES = ("tests/scenarios/serve/test_serve.py",)
MEASURED_APART = (
    "tests/scenarios/serve/test_metrics.py::test_a_worker_on_its_own_port_measures_and_the_api_shows_the_totals",
)
SETTINGS = ("tests/unit/wiring/test_settings.py",)
BROWSER = ("tests/browser",)
TROUBLE = ("docs/how-to/where-to-look.md",)
LAB = ("docs/tutorial/lab-two-workers.md",)
STACKS = ("tests/deploy/test_stacks.py",)
PORTS = ("tests/deploy/test_stacks.py::test_services_are_found_where_their_description_says",)
SCRIPTS = ("tests/deploy/test_scripts.py",)
SMOKE = ("tests/deploy/test_processes.py",)
DASHBOARDS = ("tests/deploy/test_dashboards.py", "tests/deploy/test_panels.py")
