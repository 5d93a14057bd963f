"""What a client may send to make a job: the fields of the wire contract, strict."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from mainspring.errors import Invalid

DAY_MS = 86_400_000
MAX_RETRIES = 1000

_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"

Line = Annotated[str, StringConstraints(max_length=200, pattern=_PRINTABLE)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_PRINTABLE)]
Milliseconds = Annotated[int, Field(ge=0, le=365 * DAY_MS)]


class Strict(BaseModel):
    """Nothing is converted and nothing unknown is passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class RetryRequest(Strict):
    """When a failed run is tried again."""

    kind: Literal["exponential", "fixed"] = "exponential"
    initial_ms: Milliseconds = 1000
    max_ms: Milliseconds = 60_000
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.0


class MisfireRequest(Strict):
    """What happens to moments that were missed."""

    grace_ms: Milliseconds = 60_000
    policy: Literal["latest", "all", "none"] = "latest"


class DaylightSavingRequest(Strict):
    """What happens to local times that don't exist, or exist twice."""

    gap: Literal["next_valid", "skip"] = "next_valid"
    fold: Literal["first", "both"] = "first"


class JobRequest(Strict):
    """A job as it is submitted."""

    handler: Label
    payload: Any = None
    name: Line = ""
    description: Annotated[str, StringConstraints(max_length=10_000)] = ""
    key: Annotated[Label | None, Field(validation_alias=AliasChoices("key", "jobId"))] = None
    schedule: str | None = None
    timezone: Annotated[str, StringConstraints(min_length=1, max_length=100)] = "UTC"
    starts_at: str | None = None
    priority: Annotated[int, Field(ge=0, le=100)] = 50
    max_retries: Annotated[int, Field(ge=0, le=MAX_RETRIES)] = 3
    retry: RetryRequest = RetryRequest()
    timeout_ms: Annotated[int, Field(ge=1, le=7 * DAY_MS)] = 300_000
    lane: Label | None = None
    misfire: MisfireRequest = MisfireRequest()
    overlap: Literal["allow", "skip", "wait", "replace"] = "allow"
    dst: DaylightSavingRequest = DaylightSavingRequest()
    allow_unknown_handler: bool = False
    owner: Label | None = None
    project_id: Label = "default"


class InvalidFields(Invalid):
    """Several fields may be wrong; *faults* says what is, by the path of each."""

    def __init__(self, faults: dict[str, str]) -> None:
        field, fault = next(iter(faults.items()))
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{field}: {fault}{more}", field=field)
        self.faults = faults


def read_request(fields: dict[str, Any]) -> JobRequest:
    """The request that *fields* make, or InvalidFields."""
    try:
        return JobRequest.model_validate(fields)
    except ValidationError as error:
        raise InvalidFields(
            {".".join(map(str, each["loc"])) or "body": _sentence(each["type"], each["msg"]) for each in error.errors()}
        ) from None


def _sentence(kind: str, message: str) -> str:
    match kind:
        case "extra_forbidden":
            return "there is no such field"
        case "string_pattern_mismatch":
            return "control characters aren't allowed"
        case _:
            return message[0].lower() + message[1:]
