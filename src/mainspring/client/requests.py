"""What a client may ask for, from Python values to the fields of the wire contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack
from uuid import UUID

from mainspring.client.models import DaylightSaving, Misfire, Retry

When = str | datetime | timedelta
"""A schedule: a text like `0 6 * * *`, `@every 5m` or `on-demand`, an instant, or a delay from now."""
Overlap = Literal["allow", "skip", "wait", "replace"]

_SECOND = timedelta(seconds=1)


class JobOptions(TypedDict, total=False):
    """How a job is run; what isn't given has the server's default."""

    name: str
    description: str
    timezone: str
    starts_at: datetime
    priority: int
    """0 to 100, 100 first; 50 unless given."""
    max_retries: int
    retry: Retry
    timeout: timedelta
    """How long an attempt may take."""
    lane: str
    misfire: Misfire
    overlap: Overlap
    dst: DaylightSaving
    allow_unknown_handler: bool
    """Whether the job may wait for a worker that knows the handler."""
    owner: str
    project_id: str


class JobChanges(JobOptions, total=False):
    """What can be changed about a job."""

    handler: str
    payload: Any
    schedule: When


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be submitted; made by `new_job`."""

    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """The submitter's own key, which makes submitting it again harmless."""
        key: str | None = self.body.get("key")
        return key

    def with_key(self, key: str) -> "NewJob":
        """The same job under *key*."""
        return NewJob({**self.body, "key": key})


def new_job(
    handler: str,
    payload: Any = None,
    *,
    schedule: When | None = None,
    key: str | None = None,
    **options: Unpack[JobOptions],
) -> NewJob:
    """A job to be submitted, alone or in a batch."""
    body: dict[str, Any] = {"handler": handler, "payload": payload, **_wire(options)}
    if schedule is not None:
        body["schedule"] = schedule_text(schedule)
    if key is not None:
        body["key"] = key
    return NewJob(body)


def changes_of(changes: JobChanges) -> dict[str, Any]:
    """The body of an update."""
    rest: dict[str, Any] = {name: value for name, value in changes.items() if name not in ("payload", "schedule")}
    body = _wire(rest)
    if "payload" in changes:
        body["payload"] = changes["payload"]
    if "schedule" in changes:
        body["schedule"] = schedule_text(changes["schedule"])
    return body


def schedule_text(when: When) -> str:
    """The schedule in the one grammar that all doors understand."""
    if isinstance(when, timedelta):
        # By hand: a float would write many seconds with an exponent, and round a century to more than microseconds.
        seconds, fraction = when // _SECOND, f"{when.microseconds:06}".rstrip("0")
        return f"in {seconds}{fraction and '.'}{fraction}s" if when > timedelta(0) else "now"
    return instant(when) if isinstance(when, datetime) else when


def every(interval: timedelta) -> str:
    """The schedule that fires each *interval*, which must be whole seconds."""
    if interval < _SECOND or interval % _SECOND:
        raise ValueError(f"{interval} isn't a positive number of whole seconds")
    return f"@every {interval // _SECOND}s"


def instant(moment: datetime) -> str:
    """RFC 3339 in UTC; ValueError for a time without an offset, which could mean any instant."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: write datetime(…, tzinfo=UTC)")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def milliseconds(duration: timedelta) -> int:
    """Whole milliseconds, as durations travel."""
    return round(duration / timedelta(milliseconds=1))


def query(**values: object) -> dict[str, str]:
    """Parameters of a request, without those that are None."""
    return {name: str(value) for name, value in values.items() if value is not None}


def _wire(values: Mapping[str, Any]) -> dict[str, Any]:
    wired: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, timedelta):
            wired[f"{name}_ms"] = milliseconds(value)
        elif isinstance(value, datetime):
            wired[name] = instant(value)
        elif isinstance(value, UUID):
            wired[name] = str(value)
        elif is_dataclass(value):
            wired[name] = _wire({each.name: getattr(value, each.name) for each in fields(value)})
        else:
            wired[name] = value
    return wired
