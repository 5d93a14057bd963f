from scripts.documents.group import KAFKA, KILL, NODES, STACKS, Document, Group

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
        Group("21, 22, 45", "Crashes of schedulers and workers lose nothing", KILL),
        Group("24", "A failed job is scheduled again"),
        Group("25, 26, 41, 42", "Exponential or fixed backoff, a limit, and then a dead letter"),
        Group("27", "At least once, said plainly", ("docs/explanation/guarantees.md",)),
        Group("29", "The same jobId twice is one job"),
        Group("31, 44, 46, 47", "Scaling out, and surviving the loss of nodes", NODES),
        Group("33", "Workers that are scaled by what is due, and drain", ("tests/deploy/test_kubernetes.py",)),
        Group("34 to 37", "Counts of scheduled, executed, failed and retried jobs"),
        Group("38", "Prometheus and Grafana", STACKS),
        Group("40", "Recurring jobs"),
        Group("43", "An audit"),
        Group("48", "A picture of the architecture", ("docs/images/overview.svg",)),
    ),
)
