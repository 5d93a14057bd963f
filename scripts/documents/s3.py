from scripts.documents.group import (
    DASHBOARDS,
    LAB,
    MEASURED_APART,
    PORTS,
    STACKS,
    TROUBLE,
    Document,
    Group,
)

S3 = Document(
    "S3",
    "A lab with two workers",
    69,
    (
        Group("01 to 03, 08, 13, 16 to 19, 23 to 30, 32", "Exercise 1: immediate jobs, /stats and /workers"),
        Group("04", "PostgreSQL", ("tests/conformance/test_postgres.py", "tests/documents/test_one_server.py")),
        Group("05", "Redis as the queue and for the lead; locks are the store's"),
        Group("06, 11, 12, 15, 63, 65", "Containers: their health, ports, profile and database", STACKS),
        Group("07", "Traces, and Jaeger to look at them", ("tests/scenarios/tracing/test_traces.py", *PORTS)),
        Group("09, 22, 33 to 35", "Exercise 2: delayed jobs"),
        Group("10", "Recurring jobs"),
        Group("14", "A page about the API"),
        Group("20, 21, 41 to 45", "Exercise 4: failures and retries"),
        Group("31", "A log line when a run begins and when it ends, at the level debug"),
        Group("36 to 40, 62", "Exercise 3: a worker is killed"),
        Group("46 to 49", "Exercise 5: another worker"),
        Group("50", "A graph of the workers' throughput", DASHBOARDS),
        Group("51 to 53, 55 to 58", "Metrics"),
        Group("54", "A histogram of durations", MEASURED_APART),
        Group("59, 60, 67", "The lab as a tutorial", LAB),
        Group(
            "61", "Waits that differ by chance", (*LAB, "tests/unit/domain/test_retry.py::test_jitter_only_ever_adds")
        ),
        Group("64, 66", "Troubleshooting", TROUBLE),
        Group("68", "Circuit breakers", moot="the subject of another lab"),
        Group("69", "Jobs are accepted while no worker lives"),
    ),
)
