"""The numbers of the five documents, grouped by what they are about; see requirements.py for how they are checked."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Numbers that belong together. With nothing but these, tests/documents must show each of them."""

    numbers: str
    about: str
    where: tuple[str, ...] = ()
    """Files that show it, beside tests of tests/documents that may do so too."""
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


CASSANDRA = "the Cassandra store"
STACKS = "the compose stacks and their scripts"
DASHBOARDS = "Grafana dashboards and alerts"
ORDERS = "the orders example"
PAGES = "the tutorial and the pages about operations"
REDIS, KAFKA, SQS, ETCD, S3 = (f"the {name} adapter" for name in ("Redis", "Kafka", "SQS", "etcd", "S3"))
METRICS = "the metrics that processes count themselves"
CHAOS = "the suites of load and chaos"

KILL = ("tests/scenarios/kill/test_kill_nine.py",)
LOCKS = ("tests/conformance/test_sqlite.py", "tests/conformance/test_postgres.py")
COMMANDS = ("tests/scenarios/serve/test_commands.py",)
ROLES = ("tests/scenarios/serve/test_serve.py",)
SETTINGS = ("tests/unit/wiring/test_settings.py",)
BROWSER = ("tests/browser",)

S0 = Document(
    "S0",
    "Jobs and locks on Cassandra",
    87,
    (
        Group("01, 04, 19", "Everything kept in Cassandra, in its tables", later=CASSANDRA),
        Group("02, 05, 49", "API, loop and metrics in one process, started by one command"),
        Group("03", "Locks from Python and the command line", ("tests/api/test_locks.py", "tests/cli/test_locks.py")),
        Group("06 to 11", "A stack with scripts to start, prepare, try and stop it", later=STACKS),
        Group("12 to 18, 20", "Creating a job, looking at it, and running it on demand"),
        Group("21", "Metrics as Prometheus text"),
        Group("22, 23", "Probes", ("tests/api/test_health.py",)),
        Group("24", "A process that waits for a store which is down when it starts", later="a start without the store"),
        Group("25, 59 to 75", "The checkout service", later=ORDERS),
        Group("26 to 30", "Fenced locks that outlive their holders", LOCKS),
        Group("31", "Migrations that can be repeated"),
        Group("32, 33", "What Prometheus scrapes", later=STACKS),
        Group("34, 35, 39", "Counts of processed jobs, running jobs and dead letters"),
        Group("36 to 38", "Histograms of durations and lock latency, counts of lock operations", later=METRICS),
        Group("40 to 44", "A dashboard and three alerts", later=DASHBOARDS),
        Group("45 to 47", "Common issues", later=PAGES),
        Group("48", "Everything built by one command", ("Makefile",)),
        Group("50", "A graceful end"),
        Group("51, 55", "A cap on what runs at once"),
        Group("52 to 54, 56, 57", "Attempts, backoff and the dead letter after the last"),
        Group("58", "A history of executions"),
        Group("76, 77", "A benchmark of locks against Cassandra", later=CASSANDRA),
        Group("78 to 82", "The five steps of the smoke test", later=STACKS),
        Group("83 to 85", "Notes on clocks, data centres and repair", later=PAGES),
        Group("86", "Timeouts of Cassandra", later=CASSANDRA),
        Group("87", "A licence", ("LICENSE",)),
    ),
)
S1 = Document(
    "S1",
    "Submissions of users over Kafka, SQS and Scylla",
    95,
    (
        Group("01, 08", "Immediate, scheduled and recurring jobs"),
        Group("02, 24", "Shell commands after cmd:"),
        Group("03, 45, 47, 63, 70, 78", "Long payloads in S3", later=S3),
        Group("04, 48, 57, 58, 62, 71, 79, 80", "Work by way of SQS", later=SQS),
        Group("05, 13, 52", "Work of a killed process is done by another", KILL),
        Group("06, 15, 59, 60, 65, 66, 72", "Containers, Prometheus and Grafana", later=STACKS),
        Group("07, 55, 61, 77", "Submissions by way of Kafka", later=KAFKA),
        Group("09, 26", "A job at an instant"),
        Group("10, 25, 38", "Recurring jobs, down to seconds"),
        Group("11, 56, 64", "Schedulers that etcd tells of each other", later=ETCD),
        Group("12, 16 to 18, 34, 35, 76", "Shards, tables and schema of Scylla", later=CASSANDRA),
        Group(
            "14, 39 to 44, 46, 49 to 51, 90 to 93, 95", "Named tests with their times, figures and chaos", later=CHAOS
        ),
        Group("19 to 23, 27 to 30, 32, 33, 37", "/submit and /job: headers, fields and answers"),
        Group("31", "A user's own list"),
        Group("36", "Output and errors of commands"),
        Group("53, 74, 81 to 88", "Results, demo, configuration of the stack and troubleshooting", later=PAGES),
        Group("54", "The API as a process of its own", ROLES),
        Group("67, 68", "Counts of requests and executions"),
        Group("69", "A histogram of durations", later=METRICS),
        Group("73", "A port of its own for the metrics of every role", later=METRICS),
        Group("75", "PORT", SETTINGS),
        Group("89", "How to contribute, and a licence", ("CONTRIBUTING.md", "LICENSE")),
        Group("94", "Long payloads come back whole"),
    ),
)
S2 = Document(
    "S2",
    "Services around Kafka and Cassandra",
    48,
    (
        Group("01", "Retries, recovery and deduplication", moot="the sum of the others"),
        Group("02, 03, 05, 13, 20", "Creating, updating and querying jobs before they are due"),
        Group("04, 14", "Cancelling; the five states"),
        Group("06 to 12, 17 to 19, 23, 28, 30, 32, 39", "Topics, consumers and their failures", later=KAFKA),
        Group(
            "15, 16",
            "Lookups and due jobs that cost the same whatever is stored",
            ("tests/integration/sqlite/test_plans.py", "tests/integration/postgres/test_view_plans.py"),
        ),
        Group("21, 22", "Crashes of schedulers and workers lose nothing", KILL),
        Group("24", "A failed job is scheduled again"),
        Group("25, 26, 41, 42", "Exponential or fixed backoff, a limit, and then a dead letter"),
        Group("27", "At least once, said plainly", ("docs/explanation/guarantees.md",)),
        Group("29", "The same jobId twice is one job"),
        Group("31", "Cassandra scales out", later=CASSANDRA),
        Group("33, 38, 44 to 47", "Scaling, monitoring and surviving in a cluster", later=CHAOS),
        Group("34 to 37", "Counts of scheduled, executed, failed and retried jobs"),
        Group("40", "Recurring jobs"),
        Group("43", "An audit"),
        Group("48", "A picture of the architecture", ("docs/images/overview.svg",)),
    ),
)
S3_LAB = Document(
    "S3",
    "A lab with two workers",
    69,
    (
        Group("01 to 03, 08, 13, 16 to 19, 23 to 30, 32", "Exercise 1: immediate jobs, /stats and /workers"),
        Group("31", "A log line when a run begins and when it ends", later="log lines of runs: workers write none yet"),
        Group("04", "PostgreSQL", ("tests/conformance/test_postgres.py", "tests/documents/test_one_server.py")),
        Group("05, 66", "Redis as the queue", later=REDIS),
        Group("06, 11, 12, 15, 50, 63 to 65", "Containers and dashboards", later=STACKS),
        Group("07", "Traces", later="OpenTelemetry"),
        Group("09, 22, 33 to 35", "Exercise 2: delayed jobs"),
        Group("10", "Recurring jobs"),
        Group("14", "A page about the API"),
        Group("20, 21, 41 to 45", "Exercise 4: failures and retries"),
        Group("36 to 40, 62", "Exercise 3: a worker is killed"),
        Group("46 to 49", "Exercise 5: another worker"),
        Group("51 to 53, 55 to 58", "Metrics"),
        Group("54", "A histogram of durations", later=METRICS),
        Group("59 to 61, 67, 68", "The lab as a tutorial", later=PAGES),
        Group("69", "Jobs are accepted while no worker lives"),
    ),
)
S4 = Document(
    "S4",
    "An API with a dashboard",
    92,
    (
        Group("01, 74", "Features and components", moot="the sum of the others"),
        Group("06", "Several workers", ("tests/documents/test_s3.py",)),
        Group("02, 03, 22 to 27, 30 to 32, 34, 36, 37, 39, 85", "Jobs: create, read, update, delete, pause, resume"),
        Group("04", "Priorities from 0 to 100"),
        Group("05, 20, 65, 68, 71, 72, 82", "Order by priority; settings from variables and .env; the leader"),
        Group("28", "A resumed job fires nothing that was missed", ("tests/unit/domain/test_reschedule.py",)),
        Group("70", "SCAN_INTERVAL_MS", (*SETTINGS, "tests/unit/services/test_planner.py")),
        Group("07, 10, 43, 48", "Retries, the dead letter and its retry"),
        Group("08, 67, 78, 80, 83, 86", "Redis for election and queue", later=REDIS),
        Group("09, 19, 73, 79, 88", "Roles of their own; what a killed worker held runs again"),
        Group("11, 14, 84, 89", "The dashboard", BROWSER),
        Group("12", "Roles", ROLES),
        Group("13, 15, 16, 87", "Stacks, and an example of .env", later=STACKS),
        Group("17, 18", "Migrations and sample jobs", COMMANDS),
        Group("21, 44 to 47", "Health, metrics and workers"),
        Group("29, 40, 41, 54", "Triggers and executions"),
        Group("33, 35", "What is refused"),
        Group("38", "Timeouts"),
        Group("42, 55", "Cancelling an execution"),
        Group("49 to 51", "Webhooks", ("tests/scenarios/handlers/test_webhook.py",)),
        Group("52, 53, 56, 57", "Shell commands, log messages and cleaning up"),
        Group("58 to 64", "Cron expressions"),
        Group("66", "DATABASE_URL", (*SETTINGS, "tests/documents/test_one_server.py")),
        Group("69", "How soon another scheduler follows one that was killed", later=CHAOS),
        Group("75 to 77", "Tests, benchmarks, credentials", ("tests", "benchmarks", "tests/api/test_credentials.py")),
        Group("81", "The formula of the backoff", ("tests/unit/domain/test_retry.py",)),
        Group("90", "Statistics of a code base", moot="they are another's"),
        Group("92", "References", later=PAGES),
        Group("91", "A licence", ("LICENSE",)),
    ),
)
DOCUMENTS = (S0, S1, S2, S3_LAB, S4)
