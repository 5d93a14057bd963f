"""Every setting of Mainspring, in one table.

A setting's own variable and its flag follow from each other: `MAINSPRING_DRAIN_SECONDS` is `--drain-seconds`, and a
line of `.env` looks like the environment. To add a setting is to add an entry here, and nothing else.
"""

# ruff: noqa: RUF009 - `setting` makes a dataclass field

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from mainspring.api.access import GivenKey
from mainspring.domain.retry import MAX_RETRIES
from mainspring.wiring.kinds import (
    BROKER,
    COORDINATOR,
    DIRECT,
    FOLDER,
    HOST_NAME,
    MILLISECONDS,
    NAME,
    NETWORK,
    OWNER_KEY,
    PORT,
    SCYLLA_HOSTS,
    SECONDS,
    STORE,
    SWITCH,
    TEXT,
    WEEKS,
    Network,
    choice,
    number,
    several,
)
from mainspring.wiring.setting import Part, setting, settings_of, without_password

SLOTS = number(1, 100_000)


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings:
    """All settings, and where each came from."""

    data: Path = setting(
        Part.STORE, FOLDER, Path("data"), "DATA", "Folder of the embedded store, the journal and the signals."
    )
    store: str = setting(
        Part.STORE,
        TEXT,
        "",
        "STORE",
        "URL of the store: sqlite:///file, postgresql://host/database or cassandra://host/keyspace; "
        "unless given, that of the application of --app, or else sqlite:///<data>/mainspring.db.",
        aliases={"DATABASE_URL": TEXT, "SCYLLA_HOSTS": SCYLLA_HOSTS},
    )
    signals: str = setting(
        Part.STORE,
        COORDINATOR,
        STORE,
        "SIGNALS",
        "What wakes processes: store, or redis://host:6379/0, which wakes those on Cassandra sooner.",
        aliases={"REDIS_URL": COORDINATOR},
    )
    work: str = setting(
        Part.STORE,
        BROKER,
        DIRECT,
        "WORK",
        "How due work comes to workers: direct, when they claim it from the store, or by way of redis://host:6379/0.",
    )
    members: str = setting(
        Part.SCHEDULER,
        COORDINATOR,
        STORE,
        "MEMBERS",
        "What says who leads among schedulers: store, where they share the work, or redis://host:6379/0.",
        aliases={"REDIS_URL": COORDINATOR},
    )
    retention: timedelta = setting(
        Part.SCHEDULER,
        WEEKS,
        timedelta(weeks=12),
        "RETENTION_WEEKS",
        "How long ended runs, dead letters and idempotency keys are kept.",
    )
    scheduler_name: str = setting(
        Part.SCHEDULER,
        NAME,
        socket.gethostname(),
        "SCHEDULER_NAME",
        "This scheduler's name.",
        aliases={"SCHEDULER_INSTANCE_ID": NAME},
    )
    scheduler_ttl: timedelta = setting(
        Part.SCHEDULER,
        SECONDS,
        timedelta(seconds=15),
        "SCHEDULER_TTL_SECONDS",
        "A scheduler that is silent for this long is taken for dead.",
        aliases={"LEADER_LOCK_TTL": SECONDS},
    )
    scan_interval: timedelta = setting(
        Part.SCHEDULER,
        SECONDS,
        timedelta(seconds=1),
        "SCAN_SECONDS",
        "How long a scheduler sleeps at most between two looks at the timetable; it is woken for what it knows of.",
        aliases={"SCAN_INTERVAL_MS": MILLISECONDS},
    )
    worker_name: str = setting(
        Part.WORKER,
        NAME,
        socket.gethostname(),
        "WORKER_NAME",
        "This worker's name, the same after a restart.",
        aliases={"WORKER_ID": NAME},
    )
    worker_ttl: timedelta = setting(
        Part.WORKER,
        SECONDS,
        timedelta(seconds=15),
        "WORKER_TTL_SECONDS",
        "A worker that is silent for this long is taken for dead.",
        aliases={"VISIBILITY_TIMEOUT_MS": MILLISECONDS},
    )
    concurrency: int = setting(
        Part.WORKER,
        SLOTS,
        32,
        "CONCURRENCY",
        "How many runs a worker executes at once.",
        aliases={"MAX_CONCURRENT_JOBS": SLOTS, "WORKER_MAX_IN_PROGRESS": SLOTS},
    )
    apps: tuple[str, ...] = setting(
        Part.WORKER, several(TEXT), (), "APP", "Module with your handlers, as module or module:attribute; repeatable."
    )
    drain: timedelta = setting(
        Part.WORKER,
        SECONDS,
        timedelta(seconds=30),
        "DRAIN_SECONDS",
        "How long running work may go on after a request to stop.",
    )
    allow_shell: bool = setting(
        Part.WORKER,
        SWITCH,
        False,
        "ALLOW_SHELL",
        "Let jobs run shell commands on this worker even where others can add jobs: off loopback or on a server.",
    )
    webhook_allow: tuple[Network, ...] = setting(
        Part.WORKER, several(NETWORK), (), "WEBHOOK_ALLOW", "Private networks that webhooks may call."
    )
    webhook_secret: str = setting(
        Part.WORKER, TEXT, "", "WEBHOOK_SECRET", "Key that webhook requests are signed with.", secret=True
    )
    host: str = setting(Part.HTTP, TEXT, "127.0.0.1", "HOST", "Address that the API listens on.")
    ports: tuple[int, ...] = setting(
        Part.HTTP,
        several(PORT),
        (8080,),
        "PORT",
        "Port that the API listens on, 0 for a free one; repeatable.",
        aliases={"PORT": several(PORT)},
    )
    trust_network: bool = setting(
        Part.HTTP, SWITCH, False, "TRUST_NETWORK", "Everybody who can reach the API may use it."
    )
    allow_hosts: tuple[str, ...] = setting(
        Part.HTTP,
        several(HOST_NAME),
        (),
        "ALLOW_HOST",
        "Name that requests may have in Host beside localhost and the address that is listened on, for a proxy that "
        "keeps its clients' Host; beyond loopback any name is taken unless one is given; repeatable.",
    )
    max_connections: int = setting(
        Part.HTTP,
        number(0, 1_000_000),
        0,
        "MAX_CONNECTIONS",
        "Connections that may be open at once, as far as the limit of open files allows them beside a worker; "
        "0 for 10000.",
    )
    max_connections_per_address: int = setting(
        Part.HTTP,
        number(0, 1_000_000),
        0,
        "MAX_CONNECTIONS_PER_ADDRESS",
        "Connections of one address that may be open at once; 0 for any number, as behind a proxy.",
    )
    max_streams: int = setting(
        Part.HTTP,
        number(0, 1_000_000),
        0,
        "MAX_STREAMS",
        "Event streams that may be open at once, half of them for one owner; 0 for half of the connections.",
    )
    api_keys: tuple[GivenKey, ...] = setting(
        Part.HTTP,
        several(OWNER_KEY),
        (),
        "API_KEYS",
        "API keys as owner:key, beside those made by 'mainspring key create'; repeatable.",
        secret=True,
    )
    rate_per_second: int = setting(
        Part.HTTP, number(0, 1_000_000), 0, "RATE_PER_SECOND", "Requests a second of one owner; 0 for any number."
    )
    quota_waiting: int = setting(
        Part.HTTP,
        number(0, 1_000_000_000),
        0,
        "QUOTA_WAITING",
        "Runs of one owner that may wait or run at once; 0 for any number.",
    )
    max_attempts: int = setting(
        Part.HTTP,
        number(1, MAX_RETRIES + 1),
        3,
        "MAX_ATTEMPTS",
        "How often a job is tried that `POST /jobs` took with a schedule and without `max_retries`.",
        aliases={"WORKER_MAX_ATTEMPTS": number(1, MAX_RETRIES + 1)},
    )
    backoff_base: timedelta = setting(
        Part.HTTP,
        SECONDS,
        timedelta(seconds=1),
        "BACKOFF_SECONDS",
        "How long such a job waits after its first failure; the wait doubles with each further one.",
        aliases={"WORKER_BACKOFF_BASE_MS": MILLISECONDS},
    )
    backoff_max: timedelta = setting(
        Part.HTTP,
        SECONDS,
        timedelta(seconds=60),
        "BACKOFF_MAX_SECONDS",
        "How long such a job waits at most.",
        aliases={"WORKER_BACKOFF_MAX_MS": MILLISECONDS},
    )
    log_format: str = setting(
        Part.LOG,
        choice("auto", "console", "json"),
        "auto",
        "LOG_FORMAT",
        "How log lines look; auto is console on a terminal, else json.",
    )
    log_level: str = setting(
        Part.LOG,
        choice("debug", "info", "warning", "error"),
        "info",
        "LOG_LEVEL",
        "The least important log lines to show.",
    )
    tracing: bool = setting(
        Part.TRACES, SWITCH, False, "TRACING", "Send traces to where OTEL_EXPORTER_OTLP_ENDPOINT says."
    )

    origins: Mapping[str, str] = field(default_factory=dict)
    """The flag or variable that each setting came from; one that isn't here has its default."""

    unserved: tuple[str, ...] = ()
    """Variables that other programs may need, and that mean something here which this version doesn't serve."""

    @property
    def store_url(self) -> str:
        """The store that is meant: the one given, or the file in the data folder."""
        return self.store or f"sqlite:///{self.data / 'mainspring.db'}"

    @property
    def shown_store(self) -> str:
        """The store's URL as it may be shown to anybody."""
        return without_password(self.store_url)

    def by_store_alone(self) -> "Settings":
        """The same, but nothing beside the store is used."""
        return replace(self, signals=STORE, members=STORE, work=DIRECT)

    def given(self, name: str) -> bool:
        """Whether somebody set it, be it to its default."""
        return name in self.origins

    def shown(self) -> Iterator[tuple[str, str, str]]:
        """Each setting's name, its value as it may be shown to anybody, and where it came from."""
        for known in settings_of(Settings):
            yield known.name, known.shown(getattr(self, known.name)), self.origins.get(known.name, "default")

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value}' for name, value, _ in self.shown())})"
