"""Dead letters."""

from typing import Annotated

from pydantic import ConfigDict, Field

from mainspring.api.requests import Label, Strict
from mainspring.api.schemas.base import Identity, Instant, Page, Shape
from mainspring.api.schemas.executions import Execution

MAX_REQUEUED = 1000


class DeadLetter(Execution):
    """An execution that has failed for good."""

    handler: str
    fingerprint: Annotated[str, Field(description="Equal for executions that died of the same thing.")]
    died_at: Instant


class DeadLetterList(Page[DeadLetter]):
    """A page of dead letters."""


class RequeueRequest(Strict):
    """Which dead letters to run again: those that fit everything that is given."""

    job_id: Identity | None = None
    handler: Label | None = None
    fingerprint: Label | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_REQUEUED)] = 100


class DiscardRequest(Strict):
    """Why nobody needs it any more."""

    model_config = ConfigDict(json_schema_extra={"example": {"reason": "fixed upstream"}})

    reason: Annotated[Label | None, Field(description="Kept by the audit.")] = None


class Requeued(Shape):
    """What was requeued."""

    requeued: int
    items: list[Execution]
    more: Annotated[bool, Field(description="Whether others fit that are beyond the limit.")]
