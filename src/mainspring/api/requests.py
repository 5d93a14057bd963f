"""What a client may send: the fields of the wire contract, strict, and what to say when they are wrong."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from mainspring.domain.retry import MAX_RETRIES
from mainspring.domain.schedule import LONGEST_TEXT
from mainspring.errors import Invalid

DAY_MS = 86_400_000
SCHEDULE_ALIAS = "scheduleTimeJobs"

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
"""Without control characters; a store's keys of triggers and retries differ from those of jobs by having one."""
NOT_PRINTABLE = "control characters aren't allowed"

Line = Annotated[str, StringConstraints(max_length=200, pattern=PRINTABLE)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)]
When = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
Milliseconds = Annotated[int, Field(ge=0, le=365 * DAY_MS)]


class Strict(BaseModel):
    """Nothing is converted and nothing unknown is passed over."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


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
    schedule: Annotated[
        When | None,
        Field(validation_alias=AliasChoices("schedule", SCHEDULE_ALIAS)),
    ] = None
    timezone: Annotated[str, StringConstraints(min_length=1, max_length=100)] = "UTC"
    starts_at: Annotated[str, StringConstraints(max_length=100)] | None = None
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

    def __init__(self, faults: Mapping[str, str]) -> None:
        field, fault = next(iter(faults.items()))
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{field}: {fault}{more}", field=field)
        self.faults = faults


def read_request(fields: Mapping[str, Any]) -> JobRequest:
    """The job that *fields* describe, or InvalidFields."""
    return read_as(JobRequest, fields)


def read_as(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """The request of one kind that *fields* make, or InvalidFields."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
    whole = [each for each in faults if each["type"] == "int_type" and isinstance(each["input"], float)]
    if whole and all(each["input"].is_integer() for each in whole):
        return read_as(model, _with_integers(fields, [each["loc"] for each in whole]))
    raise InvalidFields({".".join(map(str, each["loc"])) or "body": sentence(model, each) for each in faults})


def _with_integers(fields: Mapping[str, Any], places: Sequence[tuple[int | str, ...]]) -> Mapping[str, Any]:
    """The same with integers at *places*: JSON has one kind of number, and 3.0 is the integer 3."""
    changed = deepcopy(fields)
    for *path, name in places:
        holder: Any = changed
        for step in path:
            holder = holder[step]
        holder[name] = int(holder[name])
    return changed


def sentence(model: type[BaseModel], fault: Mapping[str, Any]) -> str:
    """What is wrong with a field of *model*, as its validation told, and what would be right."""
    match fault["type"]:
        case "extra_forbidden":
            *path, name = fault["loc"]
            return unknown_field(name, _fields_at(model, path))
        case "string_pattern_mismatch":
            return NOT_PRINTABLE
        case _:
            message: str = fault["msg"]
            return message[0].lower() + message[1:]


def unknown_field(name: str, known: Mapping[str, Any]) -> str:
    """That there is no such field, and which one may be meant."""
    close = get_close_matches(str(name), known, n=1)
    return f"there is no such field; did you mean {close[0]!r}?" if close else "there is no such field"


def _fields_at(model: type[BaseModel], path: list[str]) -> Mapping[str, Any]:
    for name in path:
        field = model.model_fields.get(name)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return {}
        model = field.annotation
    return model.model_fields
