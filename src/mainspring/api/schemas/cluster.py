"""Workers, health, figures, schedules, locks and the audit."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from mainspring.api.requests import DAY_MS, DaylightSavingRequest, Label, Strict, When
from mainspring.api.schemas.base import Identity, Instant, Page, Shape

MAX_PREVIEW = 100
LONGEST_TOKEN = (1 << 63) - 1


WorkerStatus = Literal["active", "draining", "drained"]


class Worker(Shape):
    """A live worker."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "worker-7",
                "session": 41,
                "status": "draining",
                "host": "compute-7",
                "pid": 2113,
                "capacity": 32,
                "executing": 3,
                "lanes": ["default"],
                "started_at": "2030-01-31T09:00:00Z",
                "last_heartbeat": "2030-01-31T09:41:05Z",
                "clock_skew_ms": 2,
                "trouble": None,
            }
        }
    )

    id: str
    session: int
    status: Annotated[
        WorkerStatus,
        Field(description="`draining` takes no more work; `drained` has said that nothing is left in its hands."),
    ]
    host: str
    pid: int
    capacity: int
    executing: int
    lanes: list[str]
    started_at: Instant
    last_heartbeat: Instant
    clock_skew_ms: int
    trouble: Annotated[
        str | None, Field(description="What its process lacks, in one sentence, while that keeps it from its work.")
    ]


class WorkerList(Page[Worker]):
    """All live workers, by name."""


class Handler(Shape):
    """Something that a job can name as its handler."""

    name: str
    lane: str
    builtin: bool
    registered: Annotated[
        bool,
        Field(
            description="Whether a worker has ever had it. Settings switch some off that are built in, as the shell's."
        ),
    ]


class HandlerList(Page[Handler]):
    """All handlers that are known, by name."""


class Database(Shape):
    """The store."""

    status: Literal["up", "down"]
    time: Instant | None = None
    detail: str | None = None


class Queue(Shape):
    """What waits and runs."""

    status: Literal["up"]
    live: int
    running: int
    dead_letters: int | None


class Pipe(Shape):
    """A use of a server beside the store. Nothing stands still without it: the store serves meanwhile."""

    purpose: Annotated[str, Field(description="What it is for, by its setting: `signals`, `members`, `work`.")]
    url: Annotated[str, Field(description="Without its password.")]
    status: Literal["up", "down"]
    since: Annotated[Instant, Field(description="Since when it has been up, or down.")]
    detail: Annotated[str | None, Field(description="Why it is down.")] = None


class Trouble(Shape):
    """Something that doesn't work as it should, though the store answers."""

    subject: Annotated[str, Field(description="`store`, or `worker` and its name.")]
    detail: Annotated[str, Field(description="What is wrong, in one sentence.")]


class Health(Shape):
    """Whether all is well."""

    status: Annotated[
        Literal["healthy", "degraded", "unhealthy"],
        Field(description="`degraded`: see `troubles`; `unhealthy`: the store is away."),
    ]
    database: Database
    queue: Queue | None = None
    workers: int | None = None
    schedulers: int | None = None
    pipes: Annotated[
        list[Pipe] | None, Field(description="Empty if everything goes by the store, as it does by default.")
    ] = None
    troubles: Annotated[list[Trouble] | None, Field(description="What makes the status `degraded`.")] = None


class Totals(Shape):
    """Counts since the store began."""

    added: int
    started: int
    retried: int
    lost: int
    completed: int
    failed: int
    cancelled: int
    skipped: int
    live: Annotated[int, Field(description="Executions that haven't ended.")]
    running: Annotated[int, Field(description="Those of them that a worker has in hand.")]
    waiting: Annotated[int, Field(description="The others.")]


class Tally(Totals):
    """The counts of one owner, lane and job type."""

    owner: str
    lane: str
    job_type: Literal["immediate", "delayed", "recurring"]


class Metrics(Shape):
    """Exact figures; what belongs to the whole cluster is null for whoever sees only its own."""

    totals: Totals
    by_group: list[Tally]
    running: int
    waiting: int
    dead_letters: int | None
    suspects: Annotated[
        int | None,
        Field(description="Executions that wait for an otherwise empty worker, because workers died while they ran."),
    ]
    workers: int
    schedulers: int
    capacity: int
    executing: int


class PreviewRequest(Strict):
    """A schedule to be looked at."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"schedule": "0 6 * * 1-5", "timezone": "Europe/Berlin", "count": 3}}
    )

    schedule: Annotated[When, StringConstraints(min_length=1)]
    timezone: Annotated[str, StringConstraints(min_length=1, max_length=100)] = "UTC"
    starts_at: Annotated[str, StringConstraints(max_length=100)] | None = None
    dst: DaylightSavingRequest = DaylightSavingRequest()
    count: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] = 5


class Preview(Shape):
    """The next fire times."""

    schedule: str
    timezone: str
    items: list[Instant]
    next: None


class Acquire(Strict):
    """Who wants a lock, and for how long."""

    model_config = ConfigDict(json_schema_extra={"example": {"holder": "importer-1", "ttl_ms": 30000}})

    holder: Label
    ttl_ms: Annotated[int, Field(ge=1, le=DAY_MS)]


class Renew(Acquire):
    """Who holds a lock under which token, and for how long it wants to."""

    model_config = ConfigDict(json_schema_extra={"example": {"holder": "importer-1", "token": 7, "ttl_ms": 30000}})

    token: Annotated[int, Field(ge=0, le=LONGEST_TOKEN)]


class Release(Strict):
    """Who gives a lock up."""

    model_config = ConfigDict(json_schema_extra={"example": {"holder": "importer-1", "token": 7}})

    holder: Label
    token: Annotated[int, Field(ge=0, le=LONGEST_TOKEN)]


class Lock(Shape):
    """A lock in somebody's hands."""

    name: str
    holder: str
    token: Annotated[int, Field(description="Greater than every earlier one of this name.")]
    expires_at: Instant


class LockList(Page[Lock]):
    """A page of the locks that are held, those first that end first unless they are renewed."""


class AuditEntry(Shape):
    """Who did what, when."""

    number: int
    at: Instant
    actor: str
    owner: str
    action: str
    subject: str
    job_id: Identity | None
    before: Any
    after: Any
    digest: Annotated[str | None, Field(description="Chains the entry to the one before; null until it was chained.")]


class AuditList(Page[AuditEntry]):
    """A page of the audit, newest first."""
